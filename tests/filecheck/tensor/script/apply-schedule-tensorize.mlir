// RUN: stepwell-opt %s --split-input-file -p apply-schedule | filecheck %s

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (j, r)>
#c = affine_map<(i, j, r) -> (i, j)>
// A loop of four bytes by a built-in intrinsic, inside of the loops that are left.
// CHECK-LABEL: @bytes
// CHECK-NOT: linalg.generic
// CHECK-COUNT-3: scf.for
// CHECK: tensor.extract_slice %A[%{{.*}}, %{{.*}}] [1, 4] [1, 1] : tensor<8x12xi8> to tensor<4xi8>
// CHECK: arith.dot_bytes %{{.*}} : i32
// CHECK: tensor.insert_slice %{{.*}} [1, 1] [1, 1] : tensor<i32> into tensor<8x16xi32>
// CHECK: {sched.parallel}
// CHECK-NOT: sched.script
func.func private @bytes(%A: tensor<8x12xi8>, %B: tensor<16x12xi8>, %D: tensor<8x16xi32>) -> tensor<8x16xi32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<8x12xi8>, tensor<16x12xi8>) outs(%D : tensor<8x16xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %p = arith.extui %x : i8 to i32
    %q = arith.extsi %y : i8 to i32
    %m = arith.muli %q, %p : i32
    %s = arith.addi %m, %z : i32
    linalg.yield %s : i32
  } -> tensor<8x16xi32>
  func.return %C : tensor<8x16xi32>
}
sched.script @s for "bytes" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  sched.parallel %i
  sched.tensorize %r1 to "dot_bytes"
}

// -----

#i = affine_map<(i, j) -> (i, j)>
#v = affine_map<(i) -> (i)>
// An intrinsic of the module, for columns: their slices have strides.
// CHECK-LABEL: @columns
// CHECK: tensor.extract_slice %x[%{{.*}}, %{{.*}}] [8, 1] [1, 1] : tensor<16x4xf32> to tensor<8xf32>
// CHECK: arith.addf %[[X:.*]], %[[X]] : f32
// CHECK-NOT: arith.mulf
// CHECK-NOT: sched.intrinsic
func.func private @columns(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %e = tensor.empty() : tensor<16x4xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<16x4xf32>) outs(%e : tensor<16x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %two = arith.constant 2.0 : f32
    %m = arith.mulf %a, %two : f32
    linalg.yield %m : f32
  } -> tensor<16x4xf32>
  func.return %y : tensor<16x4xf32>
}
sched.intrinsic @twice {
  func.func @meaning(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      %two = arith.constant 2.0 : f32
      %m = arith.mulf %two, %a : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    func.return %r : tensor<8xf32>
  }
  func.func @code(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.addf %a, %a : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    func.return %r : tensor<8xf32>
  }
}
sched.script @s for "columns" {
  %c = sched.stage "y"
  %i, %j = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 8]
  sched.reorder %j, %i0, %i1
  sched.tensorize %i1 to "twice"
}
