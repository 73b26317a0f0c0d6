// RUN: stepwell-opt %s -p convert-tflite-to-graph --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no conversion for FlexErfinv, densify
  %y = "tflite.densify"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = "tflite.operator"(%y) <{target = "FlexErfinv"}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
// -----
func.func @shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: relu makes tensor<4xf32>, and the program records tensor<5xf32>
  %y = "tflite.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// -----
func.func @element(%x: tensor<4xf32>) -> tensor<*xi32> {
  // expected-error: relu makes tensor<4xf32>, and the program records tensor<*xi32>
  %y = "tflite.relu"(%x) : (tensor<4xf32>) -> tensor<*xi32>
  func.return %y : tensor<*xi32>
}
// -----
func.func @strides(%x: tensor<1x4x4x2xf32>, %w: tensor<1x1x1x2xf32>) {
  // expected-error: strides [0, 0] and dilations [1, 1] must be positive
  %y = "tflite.conv_2d"(%x, %w) : (tensor<1x4x4x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x1xf32>
  func.return
}
// -----
func.func @open(%x: tensor<1x?x4x2xf32, #graph.dims<[1, "H", 4, 2]>>, %w: tensor<1x3x3x2xf32>) {
  // expected-error: padding SAME with stride 2 over the open size H
  %y = "tflite.conv_2d"(%x, %w) {stride_w = 2 : i64, stride_h = 2 : i64} : (tensor<1x?x4x2xf32, #graph.dims<[1, "H", 4, 2]>>, tensor<1x3x3x2xf32>) -> tensor<1x?x2x1xf32>
  func.return
}
// -----
func.func @data(%x: tensor<4xf32>, %s: tensor<2xi32>) {
  // expected-error: reshape: `shape` depends on data
  %y = "tflite.reshape"(%x, %s) : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  func.return
}
// -----
func.func @activation(%x: tensor<4xf32>) {
  // expected-error: add: the fused activation TANH
  %y = "tflite.add"(%x, %x) {fused_activation_function = "TANH"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @axis(%x: tensor<4xf32>) {
  // expected-error: concatenation: axis 2 is not one of 1 dimensions
  %y = "tflite.concatenation"(%x, %x) {axis = 2 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}
// -----
func.func @entries(%x: tensor<4xf32>) {
  // expected-error: `tflite.quantized` must have an entry for each of 2 operands and results, found 1
  %y = "tflite.relu"(%x) {tflite.quantized = [none]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
