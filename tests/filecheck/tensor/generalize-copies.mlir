// RUN: stepwell-opt %s -p generalize-copies --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p generalize-copies,generalize-copies --split-input-file | filecheck %s

// A concatenation copies each input as one row into its part of the result.
// CHECK-LABEL: @concat
// CHECK: %[[E:.*]] = tensor.empty() : tensor<2x20xf32>
// CHECK: %[[X:.*]] = tensor.collapse_shape %x {{.*}} : tensor<2x3x4xf32> into tensor<2x12xf32>
// CHECK: %[[C:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[X]] : tensor<2x12xf32>) outs(%{{.*}} : tensor<2x12xf32>)
// CHECK: %[[I:.*]] = tensor.insert_slice %[[C]] into %[[E]][0, 0] [2, 12] [1, 1]
// CHECK: %[[Y:.*]] = tensor.collapse_shape %y {{.*}} : tensor<2x2x4xf32> into tensor<2x8xf32>
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<2x8xf32>)
// CHECK: %[[J:.*]] = tensor.insert_slice %[[D]] into %[[I]][0, 12] [2, 8] [1, 1]
// CHECK: %[[R:.*]] = tensor.expand_shape %[[J]] {{.*}} output_shape [2, 5, 4]
// CHECK: func.return %[[R]]
func.func private @concat(%x: tensor<2x3x4xf32>, %y: tensor<2x2x4xf32>) -> tensor<2x5x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<2x5x4xf32>
  %a = tensor.insert_slice %x into %e[0, 0, 0] [2, 3, 4] [1, 1, 1] : tensor<2x3x4xf32> into tensor<2x5x4xf32>
  %b = tensor.insert_slice %y into %a[0, 3, 0] [2, 2, 4] [1, 1, 1] : tensor<2x2x4xf32> into tensor<2x5x4xf32>
  func.return %b : tensor<2x5x4xf32>
}

// -----

// What an op of the kernel computes is computed in its place: no copy.
// CHECK-LABEL: @computed
// CHECK: %[[N:.*]] = linalg.generic
// CHECK: tensor.insert_slice %[[N]] into %e[0, 1] [2, 3] [1, 1]
// CHECK-NOT: linalg.generic
func.func private @computed(%x: tensor<2x3xf32>, %e: tensor<2x5xf32>) -> tensor<2x5xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %t = tensor.empty() : tensor<2x3xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%t : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<2x3xf32>
  %r = tensor.insert_slice %n into %e[0, 1] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x5xf32>
  func.return %r : tensor<2x5xf32>
}

// -----

// A dynamic extent in front of whole dimensions is merged with them; offsets are scaled.
// CHECK-LABEL: @cache
// CHECK: %[[LEN:.*]] = arith.muli %q, %c64 : index
// CHECK: tensor.empty(%[[LEN]]) : tensor<8x?xf32>
// CHECK: %[[AT:.*]] = arith.muli %p, %c64 : index
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, %[[AT]]] [8, 64] [1, 1]
func.func private @cache(%x: tensor<8x1x64xf32>, %p: index, %q: index) -> tensor<8x?x64xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["p", "q"]>} {
  %e = tensor.empty(%q) : tensor<8x?x64xf32>
  %r = tensor.insert_slice %x into %e[0, %p, 0] [8, 1, 64] [1, 1, 1] : tensor<8x1x64xf32> into tensor<8x?x64xf32>
  func.return %r : tensor<8x?x64xf32>
}

// -----

// One row of a matrix has fewer dimensions: it is no copy of loops.
// CHECK-LABEL: @row
// CHECK-NEXT: %[[R:.*]] = tensor.insert_slice %x into %e[1, 0] [1, 4] [1, 1] : tensor<4xf32>
// CHECK-NEXT: func.return %[[R]]
func.func private @row(%x: tensor<4xf32>, %e: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %r = tensor.insert_slice %x into %e[1, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<3x4xf32>
  func.return %r : tensor<3x4xf32>
}
