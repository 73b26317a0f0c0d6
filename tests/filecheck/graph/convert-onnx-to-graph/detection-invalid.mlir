// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file --verify-diagnostics

func.func @numbers(%b: tensor<1x40x5xf32>, %s: tensor<1x3x40xf32>) {
  // expected-error: NonMaxSuppression: boxes have 4 numbers, found 5
  %0 = "onnx.NonMaxSuppression"(%b, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<1x40x5xf32>, tensor<1x3x40xf32>) -> !onnx.any
  func.return
}
// -----
func.func @rank(%b: tensor<1x40x4xf32>, %s: tensor<3x40xf32>) {
  // expected-error: NonMaxSuppression: scores have 3 dimensions, found 2
  %0 = "onnx.NonMaxSuppression"(%b, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<1x40x4xf32>, tensor<3x40xf32>) -> !onnx.any
  func.return
}
// -----
func.func @sizes(%b: tensor<1x40x4xf32>, %s: tensor<1x3x41xf32>) {
  // expected-error: boxes must have shape (1, 41, 4), found (1, 40, 4)
  %0 = "onnx.NonMaxSuppression"(%b, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<1x40x4xf32>, tensor<1x3x41xf32>) -> !onnx.any
  func.return
}
