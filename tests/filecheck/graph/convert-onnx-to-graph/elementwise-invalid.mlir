// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file --verify-diagnostics

func.func @shapes(%x: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error: onnx.Add: shapes (2, 3) and (2) do not broadcast: 3 against 2
  %0 = "onnx.Add"(%x, %b) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<*xf32>
  func.return
}
// -----
func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error: Softmax: axis must be in -2..1, found 2
  %0 = "onnx.Softmax"(%x) <{axis = 2 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
builtin.module attributes {onnx.opsets = {"" = 9 : i64}} {
  func.func @training(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
    // expected-error: BatchNormalization in training mode below opset 14
    %0, %1 = "onnx.BatchNormalization"(%x, %s, %s, %s, %s) <{resultSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
    func.return
  }
}
// -----
func.func @rank(%x: tensor<*xf32>) {
  // expected-error: Softmax: the rank of an input of type tensor<*xf32> is unknown
  %0 = "onnx.Softmax"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  func.return
}
// -----
// Everything that has no conversion is listed at once.
func.func @unsupported(%x: tensor<2x2xf32>) {
  // expected-error: no conversion for com.example.Fancy
  %0 = "onnx.Call"(%x) <{domain = "com.example", op_type = "Fancy", arguments = {}}> : (tensor<2x2xf32>) -> tensor<*xf32>
  func.return
}
