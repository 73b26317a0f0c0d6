// RUN: stepwell-opt %s -p fold-batch-norm | filecheck %s

// Left as it is: a convolution with another reader, and statistics that are computed.
// CHECK-LABEL: @main
// CHECK-COUNT-2: onnx.BatchNormalization
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<1x1x4x4xf32>, %m: tensor<1xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
    %w = "onnx.Constant"() <{value = dense<1.0> : tensor<1x1x1x1xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<1x1x1x1xf32>
    %s = "onnx.Constant"() <{value = dense<6.0> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["s"]} : () -> tensor<1xf32>
    %c = "onnx.Conv"(%x, %w) {onnx.values = ["c"]} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %y = "onnx.BatchNormalization"(%c, %s, %s, %s, %s) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.values = ["y"]} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
    %d = "onnx.Conv"(%x, %w) {onnx.values = ["d"]} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %z = "onnx.BatchNormalization"(%d, %s, %s, %m, %s) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.values = ["z"]} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
    func.return %c, %y, %z : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
  }
}
