// RUN: stepwell-opt %s -p 'check-indices' | filecheck %s
// RUN: stepwell-opt %s -p 'check-indices,fuse-ops' | filecheck %s
// CHECK-LABEL: @reads
func.func @reads(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // CHECK: graph.check_indices %i within <["N"]> : tensor<2xi64>
  // CHECK-NEXT: graph.fused
  %y = graph.fused (%a = %x : tensor<?x4xf32, #graph.dims<["N", 4]>>, %b = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
    %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check"
      : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<2xi64>) -> tensor<2x4xf32>
    graph.yield %g : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}
// CHECK-LABEL: @constants_that_lie_inside
func.func @constants_that_lie_inside(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  // CHECK-NOT: graph.check_indices
  %i = graph.constant dense<[-8, 7]> : tensor<2xi64>
  %y = graph.fused (%a = %x : tensor<8x4xf32>, %b = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
    %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check"
      : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    graph.yield %g : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}
