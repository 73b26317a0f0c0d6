// RUN: stepwell-opt %s -p 'compute-in-products{min-elems=64}' | filecheck %s
// RUN: stepwell-opt %s -p compute-in-products | filecheck %s --check-prefix=SMALL

#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#block = affine_map<(d0, d1, d2) -> (d0, d2)>
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>

// One row: codes and scales are read by the product, whose sum runs by blocks.
// CHECK-LABEL: func.func @blocks
// SMALL-LABEL: func.func @blocks
func.func @blocks(%x: tensor<1x8xf32>, %codes: tensor<2x4x16xi8>, %scales: tensor<2x16xf32>, %o: tensor<1x16xf32>)
    -> tensor<1x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 4, outputs = 1>} {
  // CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[0 : i64\], \[1 : i64, 2 : i64\]\]}} {{.*}} into tensor<1x2x4xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
  // CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>
  // CHECK-SAME: "parallel", "parallel", "reduction", "reduction"
  // CHECK-SAME: ins(%[[X]], %{{.*}}, %{{.*}} : tensor<1x2x4xf32>, tensor<2x4x16xi8>, tensor<2x16xf32>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[C:.*]]: i8, %[[S:.*]]: f32, %[[SUM:.*]]: f32)
  // CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[C]] : i8 to f32
  // CHECK-NEXT: %[[W:.*]] = arith.mulf %[[F]], %[[S]] : f32
  // CHECK-NEXT: arith.mulf %[[A]], %[[W]] : f32
  // CHECK-NOT: linalg.generic
  // SMALL-COUNT-2: linalg.generic
  %e = tensor.empty() : tensor<2x4x16xf32>
  %d = linalg.generic {indexing_maps = [#whole, #block, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%codes, %scales : tensor<2x4x16xi8>, tensor<2x16xf32>) outs(%e : tensor<2x4x16xf32>) {
  ^bb0(%c: i8, %s: f32, %old: f32):
    %f = arith.sitofp %c : i8 to f32
    %p = arith.mulf %f, %s : f32
    linalg.yield %p : f32
  } -> tensor<2x4x16xf32>
  %v = tensor.collapse_shape %d [[0 : i64, 1 : i64], [2 : i64]] : tensor<2x4x16xf32> into tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<1x8xf32>, tensor<8x16xf32>) outs(%o : tensor<1x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %sum, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x16xf32>
  func.return %r : tensor<1x16xf32>
}

// Four rows are the most for which each weight is computed in the product.
// CHECK-LABEL: func.func @four_rows
func.func @four_rows(%x: tensor<4x8xf32>, %codes: tensor<8x16xi8>, %o: tensor<4x16xf32>)
    -> tensor<4x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  // CHECK: linalg.generic
  // CHECK-NOT: linalg.generic
  %e = tensor.empty() : tensor<8x16xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%codes : tensor<8x16xi8>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%c: i8, %old: f32):
    %f = arith.sitofp %c : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %d : tensor<4x8xf32>, tensor<8x16xf32>) outs(%o : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %sum, %p : f32
    linalg.yield %q : f32
  } -> tensor<4x16xf32>
  func.return %r : tensor<4x16xf32>
}

// Five rows would compute each weight five times, or keep too many sums: weights are computed before.
// CHECK-LABEL: func.func @many_rows
func.func @many_rows(%x: tensor<5x8xf32>, %codes: tensor<8x16xi8>, %o: tensor<5x16xf32>)
    -> tensor<5x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  // CHECK-COUNT-2: linalg.generic
  %e = tensor.empty() : tensor<8x16xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%codes : tensor<8x16xi8>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%c: i8, %old: f32):
    %f = arith.sitofp %c : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %d : tensor<5x8xf32>, tensor<8x16xf32>) outs(%o : tensor<5x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %sum, %p : f32
    linalg.yield %q : f32
  } -> tensor<5x16xf32>
  func.return %r : tensor<5x16xf32>
}

// The sum runs along the lanes of a transposed matrix, which stays what it is.
// CHECK-LABEL: func.func @along_the_sum
func.func @along_the_sum(%x: tensor<1x8xf32>, %codes: tensor<16x8xi8>, %o: tensor<1x16xf32>)
    -> tensor<1x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  // CHECK-COUNT-2: linalg.generic
  %e = tensor.empty() : tensor<16x8xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%codes : tensor<16x8xi8>) outs(%e : tensor<16x8xf32>) {
  ^bb0(%c: i8, %old: f32):
    %f = arith.sitofp %c : i8 to f32
    linalg.yield %f : f32
  } -> tensor<16x8xf32>
  %r = linalg.generic {indexing_maps = [#x, affine_map<(m, n, k) -> (n, k)>, #y],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %d : tensor<1x8xf32>, tensor<16x8xf32>) outs(%o : tensor<1x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %sum, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x16xf32>
  func.return %r : tensor<1x16xf32>
}

// Two operands that are split otherwise have no loops in common: weights are computed before.
// CHECK-LABEL: func.func @other_split
func.func @other_split(%u: tensor<1x4x2xf32>, %codes: tensor<2x4x16xi8>, %o: tensor<1x16xf32>)
    -> tensor<1x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%codes : tensor<2x4x16xi8>)
  // CHECK: %[[V:.*]] = tensor.collapse_shape %[[W]]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[V]] : tensor<1x8xf32>, tensor<8x16xf32>)
  %e = tensor.empty() : tensor<2x4x16xf32>
  %d = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%codes : tensor<2x4x16xi8>) outs(%e : tensor<2x4x16xf32>) {
  ^bb0(%c: i8, %old: f32):
    %f = arith.sitofp %c : i8 to f32
    linalg.yield %f : f32
  } -> tensor<2x4x16xf32>
  %x = tensor.collapse_shape %u [[0 : i64], [1 : i64, 2 : i64]] : tensor<1x4x2xf32> into tensor<1x8xf32>
  %v = tensor.collapse_shape %d [[0 : i64, 1 : i64], [2 : i64]] : tensor<2x4x16xf32> into tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<1x8xf32>, tensor<8x16xf32>) outs(%o : tensor<1x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %sum, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x16xf32>
  func.return %r : tensor<1x16xf32>
}
