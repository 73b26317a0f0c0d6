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
// -----
func.func @integers(%x: tensor<2x3xi8>, %w: tensor<5x3xi8>, %r: tensor<5x5xi8>, %b: tensor<5xi32>, %h: tensor<2x5xi8>) {
  // expected-error: rnn: a recurrent layer of the integers i8
  %y, %s = "tflite.rnn"(%x, %w, %r, %b, %h) {fused_activation_function = "RELU", tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>}, {scale = dense<0.5> : tensor<f32>}, {scale = dense<0.5> : tensor<f32>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}]} : (tensor<2x3xi8>, tensor<5x3xi8>, tensor<5x5xi8>, tensor<5xi32>, tensor<2x5xi8>) -> (tensor<2x5xi8>, tensor<2x5xi8>)
  func.return
}
// -----
func.func @sequence(%x: tensor<4x2x3xi8>) {
  // expected-error: unidirectional_sequence_lstm: a recurrent layer of the integers i8
  %y = "tflite.unidirectional_sequence_lstm"(%x) {fused_activation_function = "TANH", tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}]} : (tensor<4x2x3xi8>) -> tensor<4x2x5xi8>
  func.return
}
