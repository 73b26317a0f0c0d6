// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @lambda_c2_type(%x: tensor<4xf32>) {
  // expected-error: result type must be (tensor<4xf32>) -> tensor<4xf32>, found (tensor<4xf32>) -> tensor<5xf32>
  %f = graph.lambda (%p: tensor<4xf32>) -> (tensor<5xf32>) {
    graph.yield %p : tensor<4xf32>
  }
  func.return
}
// -----
func.func @call_c1_callee(%x: tensor<4xf32>) {
  // expected-error: a call without a symbol needs a function value as its first operand
  %f = "graph.call"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @call_c2_type(%f: (tensor<4xf32>) -> tensor<4xf32>, %x: tensor<5xf32>) {
  // expected-error: a function of type (tensor<4xf32>) -> tensor<4xf32> is called as (tensor<5xf32>) -> tensor<4xf32>
  %y = "graph.call"(%f, %x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  func.return
}
