// RUN: stepwell-opt %s -p 'share-kernels{mcpu=x86-64-v3}' | filecheck %s
// RUN: stepwell-opt %s -p 'share-kernels{mcpu=x86-64-v3}' --remarks 2>&1 | filecheck %s --check-prefix REMARK

// One function for products of 4, 6 and 9 blocks of the sum, one for biases of 3, 5 and 8 blocks of channels,
// and one that appends 2 blocks of channels to 3, 5 and 6. The calls pass the extents.
// REMARK-DAG: shared: @p0, @p1, @p2: one function, C from 4 to 9
// REMARK-DAG: shared: @b0, @b1, @b2: one function, C from 3 to 8
// REMARK-DAG: shared: @j0, @j1, @j2: one function, C from 3 to 6

// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = tensor.cast %a0 : tensor<4x14x16xf32> to tensor<?x14x16xf32>
// CHECK: %[[B:.*]] = tensor.cast %a1 : tensor<4x16x32xf32> to tensor<?x16x32xf32>
// CHECK: %[[C:.*]] = arith.constant 4 : index
// CHECK: %{{.*}} = func.call @p0_shared(%[[A]], %[[B]], %[[C]]) : (tensor<?x14x16xf32>, tensor<?x16x32xf32>, index) -> tensor<14x32xf32>
// CHECK: arith.constant 6 : index
// CHECK: func.call @p0_shared
// CHECK: arith.constant 9 : index
// CHECK: func.call @p0_shared
// CHECK: %[[Y:.*]] = func.call @b0_shared
// CHECK: tensor.cast %[[Y]] : tensor<?x7x16xf32> to tensor<3x7x16xf32>
// CHECK: %[[Z:.*]] = func.call @j0_shared
// CHECK: tensor.cast %[[Z]] : tensor<?x4x16xf32> to tensor<5x4x16xf32>

// CHECK-NOT: @p1
// CHECK-LABEL: func.func private @p0_shared(
// CHECK-SAME: -> tensor<14x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["C" in 4 to 9]
// CHECK: #sched.schedule<
// CHECK-LABEL: func.func private @b0_shared(
// CHECK-SAME: symbols = ["C" in 3 to 8]
// CHECK-NOT: @j1
// CHECK-LABEL: func.func private @j0_shared(
// CHECK-SAME: -> (tensor<?x4x16xf32> {graph.dims = #graph.dims<["C + 2", 4, 16]>})
func.func @main(%a0: tensor<4x14x16xf32>, %a1: tensor<4x16x32xf32>, %a2: tensor<6x14x16xf32>, %a3: tensor<6x16x32xf32>, %a4: tensor<9x14x16xf32>, %a5: tensor<9x16x32xf32>, %a6: tensor<3x7x16xf32>, %a7: tensor<3x16xf32>, %a8: tensor<5x7x16xf32>, %a9: tensor<5x16xf32>, %a10: tensor<8x7x16xf32>, %a11: tensor<8x16xf32>, %a12: tensor<3x4x16xf32>, %a13: tensor<2x4x16xf32>, %a14: tensor<5x4x16xf32>, %a15: tensor<2x4x16xf32>, %a16: tensor<6x4x16xf32>, %a17: tensor<2x4x16xf32>) -> (tensor<14x32xf32>, tensor<14x32xf32>, tensor<14x32xf32>, tensor<3x7x16xf32>, tensor<5x7x16xf32>, tensor<8x7x16xf32>, tensor<5x4x16xf32>, tensor<7x4x16xf32>, tensor<8x4x16xf32>) {
  %y0 = func.call @p0(%a0, %a1) : (tensor<4x14x16xf32>, tensor<4x16x32xf32>) -> tensor<14x32xf32>
  %y1 = func.call @p1(%a2, %a3) : (tensor<6x14x16xf32>, tensor<6x16x32xf32>) -> tensor<14x32xf32>
  %y2 = func.call @p2(%a4, %a5) : (tensor<9x14x16xf32>, tensor<9x16x32xf32>) -> tensor<14x32xf32>
  %y3 = func.call @b0(%a6, %a7) : (tensor<3x7x16xf32>, tensor<3x16xf32>) -> tensor<3x7x16xf32>
  %y4 = func.call @b1(%a8, %a9) : (tensor<5x7x16xf32>, tensor<5x16xf32>) -> tensor<5x7x16xf32>
  %y5 = func.call @b2(%a10, %a11) : (tensor<8x7x16xf32>, tensor<8x16xf32>) -> tensor<8x7x16xf32>
  %y6 = func.call @j0(%a12, %a13) : (tensor<3x4x16xf32>, tensor<2x4x16xf32>) -> tensor<5x4x16xf32>
  %y7 = func.call @j1(%a14, %a15) : (tensor<5x4x16xf32>, tensor<2x4x16xf32>) -> tensor<7x4x16xf32>
  %y8 = func.call @j2(%a16, %a17) : (tensor<6x4x16xf32>, tensor<2x4x16xf32>) -> tensor<8x4x16xf32>
  func.return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8 : tensor<14x32xf32>, tensor<14x32xf32>, tensor<14x32xf32>, tensor<3x7x16xf32>, tensor<5x7x16xf32>, tensor<8x7x16xf32>, tensor<5x4x16xf32>, tensor<7x4x16xf32>, tensor<8x4x16xf32>
}
func.func private @p0(%a: tensor<4x14x16xf32>, %b: tensor<4x16x32xf32>) -> tensor<14x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x32xf32>) -> tensor<14x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, ko, ki) -> (ko, m, ki)>, affine_map<(m, n, ko, ki) -> (ko, ki, n)>, affine_map<(m, n, ko, ki) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<4x14x16xf32>, tensor<4x16x32xf32>) outs(%f : tensor<14x32xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x32xf32>
  func.return %r : tensor<14x32xf32>
}
func.func private @p1(%a: tensor<6x14x16xf32>, %b: tensor<6x16x32xf32>) -> tensor<14x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x32xf32>) -> tensor<14x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, ko, ki) -> (ko, m, ki)>, affine_map<(m, n, ko, ki) -> (ko, ki, n)>, affine_map<(m, n, ko, ki) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<6x14x16xf32>, tensor<6x16x32xf32>) outs(%f : tensor<14x32xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x32xf32>
  func.return %r : tensor<14x32xf32>
}
func.func private @p2(%a: tensor<9x14x16xf32>, %b: tensor<9x16x32xf32>) -> tensor<14x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x32xf32>) -> tensor<14x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, ko, ki) -> (ko, m, ki)>, affine_map<(m, n, ko, ki) -> (ko, ki, n)>, affine_map<(m, n, ko, ki) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<9x14x16xf32>, tensor<9x16x32xf32>) outs(%f : tensor<14x32xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x32xf32>
  func.return %r : tensor<14x32xf32>
}
func.func private @b0(%x: tensor<3x7x16xf32>, %b: tensor<3x16xf32>) -> tensor<3x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<3x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<3x7x16xf32>, tensor<3x16xf32>) outs(%e : tensor<3x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<3x7x16xf32>
  func.return %r : tensor<3x7x16xf32>
}
func.func private @b1(%x: tensor<5x7x16xf32>, %b: tensor<5x16xf32>) -> tensor<5x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<5x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<5x7x16xf32>, tensor<5x16xf32>) outs(%e : tensor<5x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<5x7x16xf32>
  func.return %r : tensor<5x7x16xf32>
}
func.func private @b2(%x: tensor<8x7x16xf32>, %b: tensor<8x16xf32>) -> tensor<8x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<8x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<8x7x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<8x7x16xf32>
  func.return %r : tensor<8x7x16xf32>
}
func.func private @j0(%x: tensor<3x4x16xf32>, %y: tensor<2x4x16xf32>) -> tensor<5x4x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<5x4x16xf32>
  %0 = tensor.insert_slice %x into %e[0, 0, 0] [3, 4, 16] [1, 1, 1] : tensor<3x4x16xf32> into tensor<5x4x16xf32>
  %1 = tensor.insert_slice %y into %0[3, 0, 0] [2, 4, 16] [1, 1, 1] : tensor<2x4x16xf32> into tensor<5x4x16xf32>
  func.return %1 : tensor<5x4x16xf32>
}
func.func private @j1(%x: tensor<5x4x16xf32>, %y: tensor<2x4x16xf32>) -> tensor<7x4x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<7x4x16xf32>
  %0 = tensor.insert_slice %x into %e[0, 0, 0] [5, 4, 16] [1, 1, 1] : tensor<5x4x16xf32> into tensor<7x4x16xf32>
  %1 = tensor.insert_slice %y into %0[5, 0, 0] [2, 4, 16] [1, 1, 1] : tensor<2x4x16xf32> into tensor<7x4x16xf32>
  func.return %1 : tensor<7x4x16xf32>
}
func.func private @j2(%x: tensor<6x4x16xf32>, %y: tensor<2x4x16xf32>) -> tensor<8x4x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<8x4x16xf32>
  %0 = tensor.insert_slice %x into %e[0, 0, 0] [6, 4, 16] [1, 1, 1] : tensor<6x4x16xf32> into tensor<8x4x16xf32>
  %1 = tensor.insert_slice %y into %0[6, 0, 0] [2, 4, 16] [1, 1, 1] : tensor<2x4x16xf32> into tensor<8x4x16xf32>
  func.return %1 : tensor<8x4x16xf32>
}
