// RUN: stepwell-opt %s -p convert-paddle-to-graph --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no conversion for yolo_box
  %z = "paddle.operator"(%x) <{target = "yolo_box"}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
// -----
func.func @shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: relu makes tensor<4xf32>, and the program records tensor<5xf32>
  %y = "paddle.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// -----
func.func @layout(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x1x1xf32>) {
  // expected-error: conv2d: feature maps in the order NHWC
  %y = "paddle.conv2d"(%x, %w) {data_format = "NHWC"} : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @strides(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x1x1xf32>) {
  // expected-error: conv2d: `strides` must be 2 positive numbers, found [0, 0]
  %y = "paddle.conv2d"(%x, %w) {strides = [0, 0]} : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @training(%x: tensor<4xf32>) {
  // expected-error: dropout: dropout in training
  %y = "paddle.dropout"(%x) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @data(%x: tensor<4xf32>, %a: tensor<1xi64>) {
  // expected-error: sum: `axis` must be constant
  %y = "paddle.sum"(%x, %a) : (tensor<4xf32>, tensor<1xi64>) -> tensor<f32>
  func.return
}
