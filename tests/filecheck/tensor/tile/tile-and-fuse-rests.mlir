// RUN: stepwell-opt %s -p tile-and-fuse | filecheck %s
// RUN: stepwell-opt %s -p tile-and-fuse,vectorize | filecheck %s --check-prefix LANES

// What whole tiles leave is computed however short it is.
// LANES-LABEL: @rest_of_1
// LANES: vector<32xf32>
// LANES: scf.yield
// LANES: arith.negf
// LANES-LABEL: @rest_of_2
// LANES: vector<32xf32>
// LANES: scf.yield
// LANES: arith.negf
// CHECK-LABEL: @rest_of_1
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK: tensor.extract_slice %x[64] [1] [1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[64] [1] [1]
func.func private @rest_of_1(%x: tensor<65xf32>) -> tensor<65xf32> {
  %e = tensor.empty() : tensor<65xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<65xf32>) outs(%e : tensor<65xf32>) attrs = {sched.schedule = #sched.schedule<tile = [32], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<65xf32>
  func.return %r : tensor<65xf32>
}

// CHECK-LABEL: @rest_of_2
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK: tensor.extract_slice %x[64] [2] [1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[64] [2] [1]
func.func private @rest_of_2(%x: tensor<66xf32>) -> tensor<66xf32> {
  %e = tensor.empty() : tensor<66xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<66xf32>) outs(%e : tensor<66xf32>) attrs = {sched.schedule = #sched.schedule<tile = [32], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<66xf32>
  func.return %r : tensor<66xf32>
}

// Threads share the tiles of a row of open length; its rest is less than a tile, and computed after them.
// CHECK-LABEL: @rest_of_a_row
// CHECK: scf.for {{.*}} step %c32
// CHECK: } {sched.parallel}
// CHECK: scf.for {{.*}} step %c16
// CHECK-NOT: sched.parallel
// CHECK: scf.for {{.*}} step %c1
// CHECK-NOT: sched.parallel
// CHECK: func.return
func.func private @rest_of_a_row(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [32], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// The rest of a row of sums is as long as the sum: threads share it.
// CHECK-LABEL: @rest_of_sums
// CHECK: scf.for {{.*}} step %c16
// CHECK: } {sched.parallel}
// CHECK: scf.for {{.*}} step %c1
// CHECK: } {sched.parallel}
// CHECK: func.return
func.func private @rest_of_sums(%x: tensor<64x?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (k, i)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x?xf32>) outs(%y : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [16, 1], parallel = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
