// RUN: stepwell-opt %s -p convert-tflite-to-graph --split-input-file --verify-diagnostics

func.func @variable(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error: rnn: expected 2 results with those of variables, found 1
  %y = "tflite.rnn"(%x, %w, %r, %b, %h) {fused_activation_function = "RELU"} : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return
}
// -----
func.func @activation(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error: rnn: the activation SIGN_BIT of a cell
  %y, %s = "tflite.rnn"(%x, %w, %r, %b, %h) {fused_activation_function = "SIGN_BIT"} : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  func.return
}
// -----
func.func @operands(%x: tensor<4x2x3xf32>) {
  // expected-error: unidirectional_sequence_lstm: operand 18 is missing
  %y = "tflite.unidirectional_sequence_lstm"(%x) {fused_activation_function = "TANH"} : (tensor<4x2x3xf32>) -> tensor<4x2x5xf32>
  func.return
}
