// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// One product for all steps; each step multiplies the state, computes the cell and writes its row of the result.
// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[X:.*]]: tensor<?x2x8xf32> {{.*}}, %[[W:.*]]: tensor<1x12x8xf32>, %[[R:.*]]: tensor<1x12x4xf32>, %[[T:.*]]: index
// CHECK: %[[Y:.*]] = tensor.empty(%[[T]]) : tensor<?x1x2x4xf32>
// CHECK: %[[BYGATE:.*]] = tensor.expand_shape %[[W]] {{.*}} into tensor<1x3x4x8xf32>
// CHECK: %[[GATES:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[BYGATE]] : {{.*}}) outs(%{{.*}} : tensor<?x2x3x4xf32>)
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[T]] step %{{.*}} iter_args(%[[OUT:.*]] = %[[Y]], %[[H:.*]] = %{{.*}})
// A reverse layer starts at the last step.
// CHECK: %[[LAST:.*]] = arith.subi %[[T]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.subi %[[LAST]], %[[I]] : index
// CHECK: %[[SEEN:.*]] = tensor.extract_slice %[[GATES]][%[[AT]], 0, 0, 0] [1, 2, 3, 4]
// CHECK: linalg.generic {{.*}} ins(%[[H]], %{{.*}} : tensor<2x4xf32>, tensor<1x3x4x4xf32>)
// CHECK: math.tanh
// CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][%[[AT]], 0, 0, 0] [1, 1, 2, 4]
// CHECK: scf.yield
func.func @gru(%x: tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, %w: tensor<1x12x8xf32>, %r: tensor<1x12x4xf32>) -> tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>> {
  %0 = graph.fused (%p = %x : tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, %q = %w : tensor<1x12x8xf32>, %s = %r : tensor<1x12x4xf32>) -> (tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>) {
    %1, %2 = graph.rnn %p, %q, %s cell "gru" direction "reverse" activations ["sigmoid", "tanh"] alphas [0.0, 0.0] betas [0.0, 0.0] linear_before_reset true : (tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, tensor<1x12x8xf32>, tensor<1x12x4xf32>) -> tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>, tensor<1x2x4xf32>
    graph.yield %1 : tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>
  }
  func.return %0 : tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>
}
