// RUN: stepwell-opt %s -p fold-batch-norm | filecheck %s

// Scale 6 / sqrt(4 - eps + eps) = 3: the weights are three times as large, the bias is (1 - 2) · 3 + 5 = 2.
// CHECK-LABEL: @main
// CHECK-DAG: %[[W:.*]] = "onnx.Constant"() <{value = dense<{{.*}}3.000000e+00{{.*}}> : tensor<1x1x1x1xf32>}> {onnx.initializer, onnx.values = ["w_folded"]}
// CHECK-DAG: %[[B:.*]] = "onnx.Constant"() <{value = dense<2.000000e+00> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["w_bias"]}
// CHECK: %[[Y:.*]] = "onnx.Conv"(%x, %[[W]], %[[B]]) <{pads = array<i64: 1, 1, 1, 1>}> {onnx.values = ["y"]}
// CHECK-NOT: BatchNormalization
// CHECK: func.return %[[Y]]
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32> {
    %w = "onnx.Constant"() <{value = dense<1.0> : tensor<1x1x1x1xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<1x1x1x1xf32>
    %b = "onnx.Constant"() <{value = dense<1.0> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["b"]} : () -> tensor<1xf32>
    %s = "onnx.Constant"() <{value = dense<6.0> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["s"]} : () -> tensor<1xf32>
    %o = "onnx.Constant"() <{value = dense<5.0> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["o"]} : () -> tensor<1xf32>
    %m = "onnx.Constant"() <{value = dense<2.0> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["m"]} : () -> tensor<1xf32>
    %v = "onnx.Constant"() <{value = dense<3.5> : tensor<1xf32>}> {onnx.initializer, onnx.values = ["v"]} : () -> tensor<1xf32>
    %c = "onnx.Conv"(%x, %w, %b) <{pads = array<i64: 1, 1, 1, 1>}> {onnx.values = ["c"]} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x6x6xf32>
    %y = "onnx.BatchNormalization"(%c, %s, %o, %m, %v) <{epsilon = 0.5 : f32, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.values = ["y"]} : (tensor<1x1x6x6xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x6x6xf32>
    func.return %y : tensor<1x1x6x6xf32>
  }
}
