// RUN: stepwell-opt %s -p convert-tflite-to-graph | filecheck %s

// Operands become numbers, the result codes. RELU6 bounds the codes, only where the type does not: 0 has the code 5.
// CHECK-LABEL: @conv
// CHECK: %[[X:.*]] = graph.dequantize %x, %{{.*}} zero_point %{{.*}} : tensor<i8> to f32
// CHECK: %[[W:.*]] = graph.dequantize %w, %{{.*}} axis 3 to f32 : (tensor<1x1x1x2xi8>, tensor<2xf32>) -> tensor<1x1x1x2xf32>
// CHECK: graph.conv %[[X]], %[[W]]
// CHECK: %[[Q:.*]] = graph.quantize %{{.*}}, %{{.*}} zero_point %{{.*}} : tensor<i8> to i8
// CHECK: %[[LOW:.*]] = graph.constant dense<5> : tensor<i8>
// CHECK: %[[Y:.*]] = graph.maximum %[[Q]], %[[LOW]]
// CHECK: %[[HIGH:.*]] = graph.constant dense<65> : tensor<i8>
// CHECK: graph.minimum %[[Y]], %[[HIGH]]
func.func @conv(%x: tensor<1x4x4x2xi8>, %w: tensor<1x1x1x2xi8>) -> tensor<1x4x4x2xi8> {
  %y = "tflite.depthwise_conv_2d"(%x, %w) {stride_w = 1 : i64, stride_h = 1 : i64, fused_activation_function = "RELU6", tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<[0.25, 0.5]> : tensor<2xf32>, axis = 3 : i64}, {scale = dense<0.1> : tensor<f32>, zero_point = dense<5> : tensor<i8>}]} : (tensor<1x4x4x2xi8>, tensor<1x1x1x2xi8>) -> tensor<1x4x4x2xi8>
  func.return %y : tensor<1x4x4x2xi8>
}
// Where the least code stands for 0 and the greatest for less than 6, nothing is bounded.
// CHECK-LABEL: @bounded
// CHECK: graph.quantize
// CHECK-NOT: graph.m
func.func @bounded(%x: tensor<4xf32>) -> tensor<4xi8> {
  %y = "tflite.add"(%x, %x) {fused_activation_function = "RELU6", tflite.quantized = [none, none, {scale = dense<0.02> : tensor<f32>, zero_point = dense<-128> : tensor<i8>}]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>
  func.return %y : tensor<4xi8>
}
// Moves of codes of one quantization are moves of codes: no number is computed. Padding has the code of 0.
// CHECK-LABEL: @moves
// CHECK-NOT: graph.dequantize
// CHECK: graph.reshape %x
// CHECK: %[[ZERO:.*]] = graph.constant dense<3> : tensor<i8>
// CHECK: graph.pad %{{.*}} with %[[ZERO]] : tensor<i8>
func.func @moves(%x: tensor<2x3xi8>) -> tensor<4x2xi8> {
  %p = "tflite.weight"() <{value = dense<[[1, 0], [0, 0]]> : tensor<2x2xi32>}> : () -> tensor<2x2xi32>
  %0 = "tflite.reshape"(%x) {new_shape = [3, 2], tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}]} : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %1 = "tflite.pad"(%0, %p) {tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, none, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}]} : (tensor<3x2xi8>, tensor<2x2xi32>) -> tensor<4x2xi8>
  func.return %1 : tensor<4x2xi8>
}
// Another scale is a dequantize and a quantize.
// CHECK-LABEL: @rescaled
// CHECK: graph.dequantize %x
// CHECK: graph.quantize
func.func @rescaled(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = "tflite.quantize"(%x) {tflite.quantized = [{scale = dense<0.5> : tensor<f32>}, {scale = dense<0.25> : tensor<f32>}]} : (tensor<4xi8>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
// Means of codes are rounded as integer division does, halves away from zero; a quarter of the step is added.
// CHECK-LABEL: @mean_of_codes
// CHECK: %[[X:.*]] = graph.cast %x to f32
// CHECK: %[[M:.*]] = graph.pool %[[X]] kind "avg"
// CHECK: graph.constant dense<5.625{{0*}}e-01>
// CHECK: %[[F:.*]] = graph.floor
// CHECK: %[[N:.*]] = graph.neg %[[F]]
// CHECK: %[[W:.*]] = graph.where %{{.*}}, %[[N]], %[[F]]
// CHECK: graph.cast %[[W]] to i8
// CHECK-NOT: graph.dequantize
func.func @mean_of_codes(%x: tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8> {
  %0 = "tflite.average_pool_2d"(%x) {padding = "VALID", stride_w = 2 : i64, stride_h = 2 : i64, filter_width = 2 : i64, filter_height = 2 : i64, tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}]} : (tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8>
  func.return %0 : tensor<1x2x2x2xi8>
}
// A fused activation bounds the means, which are rounded before.
// CHECK-LABEL: @bounded_mean_of_codes
// CHECK-NOT: graph.dequantize
// CHECK: graph.pool %{{.*}} kind "avg"
// CHECK: %[[C:.*]] = graph.cast %{{.*}} to i8
// CHECK: %[[LOW:.*]] = graph.constant dense<3> : tensor<i8>
// CHECK: %[[Y:.*]] = graph.maximum %[[C]], %[[LOW]]
// CHECK: %[[HIGH:.*]] = graph.constant dense<15> : tensor<i8>
// CHECK: graph.minimum %[[Y]], %[[HIGH]]
// CHECK-NOT: graph.quantize
func.func @bounded_mean_of_codes(%x: tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8> {
  %0 = "tflite.average_pool_2d"(%x) {padding = "VALID", stride_w = 2 : i64, stride_h = 2 : i64, filter_width = 2 : i64, filter_height = 2 : i64, fused_activation_function = "RELU6", tflite.quantized = [{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}, {scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}]} : (tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8>
  func.return %0 : tensor<1x2x2x2xi8>
}
// Bounds are rounded halves away from zero too: 6 / 4 is 1.5, and has the code 2; -1 / 2 the code -1.
// CHECK-LABEL: @bounds_of_halves
// CHECK: graph.constant dense<2> : tensor<i8>
// CHECK-NEXT: graph.minimum
// CHECK: graph.constant dense<-1> : tensor<i8>
// CHECK-NEXT: graph.maximum
func.func @bounds_of_halves(%x: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xi8>) {
  %0 = "tflite.add"(%x, %x) {fused_activation_function = "RELU6", tflite.quantized = [none, none, {scale = dense<4.0> : tensor<f32>}]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>
  %1 = "tflite.add"(%x, %x) {fused_activation_function = "RELU_N1_TO_1", tflite.quantized = [none, none, {scale = dense<2.0> : tensor<f32>}]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>
  func.return %0, %1 : tensor<4xi8>, tensor<4xi8>
}
