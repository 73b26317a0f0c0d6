// RUN: stepwell-opt %s -p choose-tokens --split-input-file --verify-diagnostics

// expected-error: tokens are chosen by logits, and every result of @main is a state
func.func @main(%k: tensor<4xf32> {graph.state = "k"}) -> (tensor<4xf32> {graph.state = "k"}) {
  func.return %k : tensor<4xf32>
}

// -----

// expected-error: tokens are chosen by logits, floats along a last axis, found tensor<2x8xi64>
func.func @main(%x: tensor<2x8xi64>) -> tensor<2x8xi64> {
  func.return %x : tensor<2x8xi64>
}

// -----

// expected-error: tokens are chosen by logits, floats along a last axis, found tensor<f32>
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
