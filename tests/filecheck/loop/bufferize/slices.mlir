// RUN: stepwell-opt %s -p bufferize | filecheck %s

// Each part of a concatenation is computed in its slice of the output, though it is made before the whole.
// CHECK-LABEL: @concat_computed
// CHECK-SAME: %[[OUT:[a-z]+]]: memref<10xf32>)
// CHECK: %[[A:.*]] = memref.subview %[[OUT]][0] [4] [1] : memref<10xf32> to memref<4xf32, strided<[1]>>
// CHECK: linalg.fill {{.*}} outs(%[[A]] :
// CHECK: %[[B:.*]] = memref.subview %[[OUT]][4] [6] [1] : memref<10xf32> to memref<6xf32, strided<[1], offset: 4>>
// CHECK: linalg.fill {{.*}} outs(%[[B]] :
// CHECK-NOT: memref.copy
func.func private @concat_computed(%x: tensor<1xf32>) -> tensor<10xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %x[%c0] : tensor<1xf32>
  %e0 = tensor.empty() : tensor<4xf32>
  %a = linalg.fill ins(%v : f32) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %w = arith.addf %v, %v : f32
  %e1 = tensor.empty() : tensor<6xf32>
  %b = linalg.fill ins(%w : f32) outs(%e1 : tensor<6xf32>) -> tensor<6xf32>
  %d0 = tensor.empty() : tensor<10xf32>
  %d1 = tensor.insert_slice %a into %d0[0] [4] [1] : tensor<4xf32> into tensor<10xf32>
  %d2 = tensor.insert_slice %b into %d1[4] [6] [1] : tensor<6xf32> into tensor<10xf32>
  func.return %d2 : tensor<10xf32>
}

// Inputs have to be copied; where the slices lie is known by symbols only.
// CHECK-LABEL: @concat_inputs
// CHECK-SAME: (%[[A:.*]]: memref<?xf32> {{.*}}, %[[B:.*]]: memref<?xf32> {{.*}}, %[[OUT:.*]]: memref<?xf32> {{.*}}, %[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: %[[FIRST:.*]] = memref.subview %[[OUT]][0] [%[[N]]] [1]
// CHECK-NEXT: "memref.copy"(%[[A]], %[[FIRST]])
// CHECK: %[[SECOND:.*]] = memref.subview %[[OUT]][%[[N]]] [%[[M]]] [1]
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[B]] : memref<?xf32>) outs(%[[SECOND]] :
func.func private @concat_inputs(%a: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %b: tensor<?xf32> {graph.dims = #graph.dims<["M"]>}, %N: index, %M: index) -> (tensor<?xf32> {graph.dims = #graph.dims<["M + N"]>}) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["N", "M"]>} {
  %S = arith.addi %N, %M : index
  %d0 = tensor.empty(%S) : tensor<?xf32>
  %d1 = tensor.insert_slice %a into %d0[0] [%N] [1] : tensor<?xf32> into tensor<?xf32>
  %e = tensor.empty(%M) : tensor<?xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%b : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  %d2 = tensor.insert_slice %n into %d1[%N] [%M] [1] : tensor<?xf32> into tensor<?xf32>
  func.return %d2 : tensor<?xf32>
}

// A slice that drops a dimension, with strides.
// CHECK-LABEL: @rank_reduced
// CHECK: memref.subview %{{.*}}[2, 1] [1, 3] [1, 2] : memref<4x8xf32> to memref<3xf32, strided<[2], offset: 17>>
func.func private @rank_reduced(%x: tensor<4x8xf32>) -> tensor<3xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %s = tensor.extract_slice %x[2, 1] [1, 3] [1, 2] : tensor<4x8xf32> to tensor<3xf32>
  %e = tensor.empty() : tensor<3xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<3xf32>
  func.return %n : tensor<3xf32>
}

// Merging dimensions of a slice with gaps needs a dense copy.
// CHECK-LABEL: @collapse_with_gaps
// CHECK: %[[S:.*]] = memref.subview %{{.*}}[0, 0] [4, 3] [1, 1]
// CHECK: %[[WIDE:.*]] = memref.expand_shape %{{.*}} : memref<12xf32> into memref<4x3xf32>
// CHECK: "memref.copy"(%[[S]], %[[WIDE]])
func.func private @collapse_with_gaps(%x: tensor<4x8xf32>) -> tensor<12xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %s = tensor.extract_slice %x[0, 0] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  %r = tensor.collapse_shape %s [[0 : i64, 1 : i64]] : tensor<4x3xf32> into tensor<12xf32>
  func.return %r : tensor<12xf32>
}

// The rows are evenly spaced, but vectors could not read along them.
// CHECK-LABEL: @collapse_of_a_unit_dimension
// CHECK: memref.expand_shape {{.*}} : memref<10xf32> into memref<5x2x1xf32>
// CHECK: "memref.copy"
func.func private @collapse_of_a_unit_dimension(%x: tensor<5x2x2xf32>) -> tensor<10xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %s = tensor.extract_slice %x[0, 0, 0] [5, 2, 1] [1, 1, 1] : tensor<5x2x2xf32> to tensor<5x2x1xf32>
  %r = tensor.collapse_shape %s [[0 : i64, 1 : i64, 2 : i64]] : tensor<5x2x1xf32> into tensor<10xf32>
  func.return %r : tensor<10xf32>
}
