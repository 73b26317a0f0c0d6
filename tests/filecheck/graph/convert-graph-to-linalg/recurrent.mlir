// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// One op into tensors for the outputs of all steps and the last state.
// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[X:.*]]: tensor<?x2x8xf32> {{.*}}, %[[W:.*]]: tensor<1x12x8xf32>, %[[R:.*]]: tensor<1x12x4xf32>, %[[T:.*]]: index
// CHECK: %[[Y:.*]] = tensor.empty(%[[T]]) : tensor<?x1x2x4xf32>
// CHECK: %[[H:.*]] = tensor.empty() : tensor<1x2x4xf32>
// CHECK: linalg_ext.rnn %[[X]], %[[W]], %[[R]] into %[[Y]], %[[H]] : {{.*}} cell "gru" direction "reverse" activations ["sigmoid", "tanh"]
// CHECK-SAME: linear_before_reset true
func.func @gru(%x: tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, %w: tensor<1x12x8xf32>, %r: tensor<1x12x4xf32>) -> tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>> {
  %0 = graph.fused (%p = %x : tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, %q = %w : tensor<1x12x8xf32>, %s = %r : tensor<1x12x4xf32>) -> (tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>) {
    %1, %2 = graph.rnn %p, %q, %s cell "gru" direction "reverse" activations ["sigmoid", "tanh"] alphas [0.0, 0.0] betas [0.0, 0.0] linear_before_reset true : (tensor<?x2x8xf32, #graph.dims<["T", 2, 8]>>, tensor<1x12x8xf32>, tensor<1x12x4xf32>) -> tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>, tensor<1x2x4xf32>
    graph.yield %1 : tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>
  }
  func.return %0 : tensor<?x1x2x4xf32, #graph.dims<["T", 1, 2, 4]>>
}
