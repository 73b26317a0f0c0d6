// RUN: stepwell-opt %s -p plan-memory --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: graph.relu is not allowed in @main on buffers
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
