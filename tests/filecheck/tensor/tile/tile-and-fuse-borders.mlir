// RUN: stepwell-opt %s -p tile-and-fuse --split-input-file | filecheck %s

// Rows of a filter that see only the zeros around an image are left out: row -1 and row 6 of six rows, and steps
// of two rows from a row of the result to the next, and of three between those of the filter.
// CHECK-LABEL: @dilated
// CHECK: scf.for %[[H:.*]] = %c0 to %c3 step %c1
// CHECK: %[[ROW:.*]] = arith.muli %[[H]], %c2
// CHECK: %[[BEFORE:.*]] = arith.subi %c1, %[[ROW]]
// CHECK-NEXT: %[[ABOVE:.*]] = arith.maxsi %[[BEFORE]], %c0
// CHECK-NEXT: %[[ROUND:.*]] = arith.addi %[[ABOVE]], %c2
// CHECK-NEXT: %[[FIRST:.*]] = arith.divui %[[ROUND]], %c3
// CHECK-NEXT: %[[LEFT:.*]] = arith.subi %c7, %[[ROW]]
// CHECK-NEXT: %[[BELOW:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK-NEXT: %[[UP:.*]] = arith.addi %[[BELOW]], %c2
// CHECK-NEXT: %[[LAST:.*]] = arith.divui %[[UP]], %c3
// CHECK-NEXT: %[[END:.*]] = arith.minsi %c2, %[[LAST]]
// CHECK-NEXT: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1
func.func private @dilated(%x: tensor<6x16xf32>, %w: tensor<2xf32>, %o: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  %p = tensor.empty() : tensor<8x16xf32>
  %q = tensor.insert_slice %f into %p[0, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
  %r = tensor.insert_slice %f into %q[7, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
  %in = tensor.insert_slice %x into %r[1, 0] [6, 16] [1, 1] : tensor<6x16xf32> into tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(h, c, k) -> (h * 2 + k * 3, c)>, affine_map<(h, c, k) -> (k)>, affine_map<(h, c, k) -> (h, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in, %w : tensor<8x16xf32>, tensor<2xf32>) outs(%o : tensor<3x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [1, 0, 1], parallel = [0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<3x16xf32>
  func.return %s : tensor<3x16xf32>
}

// -----

// A border of another number counts, and so do two rows of results at a time.
// CHECK-LABEL: @ones
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK-NOT: arith.maxsi
// CHECK: return
func.func private @ones(%x: tensor<6x16xf32>, %w: tensor<3xf32>, %o: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %in = tensor.insert_slice %x into %f[1, 0] [6, 16] [1, 1] : tensor<6x16xf32> into tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(h, c, k) -> (h + k, c)>, affine_map<(h, c, k) -> (k)>, affine_map<(h, c, k) -> (h, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in, %w : tensor<8x16xf32>, tensor<3xf32>) outs(%o : tensor<6x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [1, 0, 1], parallel = [0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<6x16xf32>
  func.return %s : tensor<6x16xf32>
}

// -----

// CHECK-LABEL: @two_rows
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK-NOT: arith.maxsi
// CHECK: return
func.func private @two_rows(%x: tensor<6x16xf32>, %w: tensor<3xf32>, %o: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %in = tensor.insert_slice %x into %f[1, 0] [6, 16] [1, 1] : tensor<6x16xf32> into tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(h, c, k) -> (h + k, c)>, affine_map<(h, c, k) -> (k)>, affine_map<(h, c, k) -> (h, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in, %w : tensor<8x16xf32>, tensor<3xf32>) outs(%o : tensor<6x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [2, 0, 1], parallel = [0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<6x16xf32>
  func.return %s : tensor<6x16xf32>
}

// -----

// Columns of a filter that lie further apart than the tile of eight results is wide.
// CHECK-LABEL: @columns
// CHECK: scf.for %[[W:.*]] = %c0 to %c16 step %c8
// CHECK: %[[BEFORE:.*]] = arith.subi %c5, %[[W]]
// CHECK: %[[FIRST:.*]] = arith.divui %{{.*}}, %c12
// CHECK: %[[LEFT:.*]] = arith.subi %c28, %[[W]]
// CHECK: %[[LAST:.*]] = arith.divui %{{.*}}, %c12
// CHECK-NEXT: %[[END:.*]] = arith.minsi %c3, %[[LAST]]
// CHECK-NEXT: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1
func.func private @columns(%x: tensor<256xf32>, %w: tensor<3xf32>, %o: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<640xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<640xf32>) -> tensor<640xf32>
  %flat = tensor.insert_slice %x into %f[192] [256] [1] : tensor<256xf32> into tensor<640xf32>
  %in = tensor.expand_shape %flat [[0, 1]] output_shape [40, 16] : tensor<640xf32> into tensor<40x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(w, c, k) -> (w + k * 12, c)>, affine_map<(w, c, k) -> (k)>, affine_map<(w, c, k) -> (w, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in, %w : tensor<40x16xf32>, tensor<3xf32>) outs(%o : tensor<16x16xf32>) attrs = {sched.schedule = #sched.schedule<tile = [8, 0, 1], parallel = [0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %acc, %m : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  func.return %s : tensor<16x16xf32>
}
