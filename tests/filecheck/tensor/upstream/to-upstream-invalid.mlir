// RUN: stepwell-opt %s -p to-upstream --split-input-file --verify-diagnostics

func.func @level_1(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no counterpart in upstream MLIR for graph.neg, graph.relu
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %z = graph.neg %y : tensor<4xf32> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

func.func @shape_in_data(%x: tensor<8xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  // expected-error: no counterpart in upstream MLIR for a shape in data
  %y = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<8xf32> -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
