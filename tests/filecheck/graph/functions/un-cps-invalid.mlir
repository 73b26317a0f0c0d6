// RUN: stepwell-opt %s -p to-cps,un-cps --verify-diagnostics

// expected-error: @main returns functions, which take continuations now
func.func @main(%x: tensor<i64>) -> ((tensor<i64>) -> tensor<i64>) {
  %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    graph.yield %x : tensor<i64>
  }
  func.return %f : (tensor<i64>) -> tensor<i64>
}
