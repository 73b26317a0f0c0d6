// RUN: stepwell-opt %s -p convert-graph-to-linalg --split-input-file --verify-diagnostics

// N may be 1 or 3 when the model runs.
func.func @may_be_one(%x: tensor<?xf32, #graph.dims<["N"]>>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = graph.fused (%p = %x : tensor<?xf32, #graph.dims<["N"]>>, %q = %b : tensor<3xf32>) -> (tensor<3xf32>) {
    // expected-error: graph.add: dimension N of (N) may be 1 or 3 at run time
    %0 = graph.add %p, %q : (tensor<?xf32, #graph.dims<["N"]>>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %0 : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
// -----
func.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.fused (%p = %x : tensor<?xf32>) -> (tensor<?xf32>) {
    // expected-error: dimension ? of (?) may be 1 or ? at run time
    %0 = graph.exp %p : tensor<?xf32> -> tensor<?xf32>
    graph.yield %0 : tensor<?xf32>
  }
  func.return %y : tensor<?xf32>
}
// -----
func.func @data_dependent(%x: tensor<4xf32>) {
  %n = "test.op"() : () -> tensor<?xf32, #graph.dims<["K"]>>
  // expected-error: dimension K depends on data, not on the shapes of the inputs
  %y = graph.fused (%p = %n : tensor<?xf32, #graph.dims<["K"]>>) -> (tensor<?xf32, #graph.dims<["K"]>>) {
    %0 = graph.exp %p : tensor<?xf32, #graph.dims<["K"]>> -> tensor<?xf32, #graph.dims<["K"]>>
    graph.yield %0 : tensor<?xf32, #graph.dims<["K"]>>
  }
  func.return
}
// -----
func.func @large_constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.fused (%p = %x : tensor<2xf32>) -> (tensor<2xf32>) {
    // expected-error: a constant of type tensor<2xf32> inside a kernel
    %k = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = graph.add %p, %k : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}
