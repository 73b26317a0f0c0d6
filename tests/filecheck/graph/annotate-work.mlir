// RUN: stepwell-opt %s -p annotate-work | filecheck %s

// CHECK-LABEL: @epilogue
func.func @epilogue(%x: tensor<?x8xf32, #graph.dims<["N", 8]>>, %w: tensor<8x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "51 * N", graph.bytes = "44 * N + 96"}
  %y = graph.fused (%a = %x : tensor<?x8xf32, #graph.dims<["N", 8]>>, %b = %w : tensor<8x3xf32>) -> (tensor<?x3xf32, #graph.dims<["N", 3]>>) {
    %p = graph.matmul %a, %b : (tensor<?x8xf32, #graph.dims<["N", 8]>>, tensor<8x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
    %r = graph.relu %p : tensor<?x3xf32, #graph.dims<["N", 3]>> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
    graph.yield %r : tensor<?x3xf32, #graph.dims<["N", 3]>>
  }
  func.return %y : tensor<?x3xf32, #graph.dims<["N", 3]>>
}

// Of a table only what is gathered is read.
// CHECK-LABEL: @lookup
func.func @lookup(%table: tensor<1000x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "0", graph.bytes = "80"}
  %y = graph.fused (%t = %table : tensor<1000x4xf32>, %j = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
    %g = graph.gather %t, %j axis 0 batch_dims 0 bounds "clip" : (tensor<1000x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    graph.yield %g : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}
