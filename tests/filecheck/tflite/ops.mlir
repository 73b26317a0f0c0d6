// RUN: stepwell-opt %s | filecheck %s

// Optional operands are segments; options are attributes, and defaults are left out. Quantization is an entry for
// each operand and result.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x8x8x3xf32, #graph.dims<["N", 8, 8, 3]>>, %c: tensor<1x4xi8>) {
  // CHECK: %[[W:.*]] = "tflite.weight"() <{value = dense<5.000000e-01> : tensor<4x1x1x3xf32>}> {tflite.name = "w"} : () -> tensor<4x1x1x3xf32>
  %w = "tflite.weight"() <{value = dense<0.5> : tensor<4x1x1x3xf32>}> {tflite.name = "w"} : () -> tensor<4x1x1x3xf32>
  // CHECK: "tflite.conv_2d"(%x, %[[W]]) {padding = "VALID", stride_w = 2 : i64, stride_h = 2 : i64, fused_activation_function = "RELU6"}
  %y = "tflite.conv_2d"(%x, %w) {padding = "VALID", stride_w = 2 : i64, stride_h = 2 : i64, fused_activation_function = "RELU6"} : (tensor<?x8x8x3xf32, #graph.dims<["N", 8, 8, 3]>>, tensor<4x1x1x3xf32>) -> tensor<?x4x4x4xf32, #graph.dims<["N", 4, 4, 4]>>
  // CHECK: "tflite.concatenation"(%c, %c) {axis = 1 : i64, tflite.quantized = [{scale = dense<5.000000e-01> : tensor<f32>}, {scale = dense<5.000000e-01> : tensor<f32>}, none]} : (tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x8xi8>
  %z = "tflite.concatenation"(%c, %c) {axis = 1 : i64, tflite.quantized = [{scale = dense<0.5> : tensor<f32>}, {scale = dense<0.5> : tensor<f32>}, none]} : (tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x8xi8>
  // A result whose rank the model does not record.
  // CHECK: "tflite.relu"(%{{.*}}) : ({{.*}}) -> tensor<*xf32>
  %r = "tflite.relu"(%y) : (tensor<?x4x4x4xf32, #graph.dims<["N", 4, 4, 4]>>) -> tensor<*xf32>
  // CHECK: "tflite.operator"(%c) <{target = "FlexErfinv"}> : (tensor<1x4xi8>) -> tensor<1x4xf32>
  %o = "tflite.operator"(%c) <{target = "FlexErfinv"}> : (tensor<1x4xi8>) -> tensor<1x4xf32>
  func.return
}
