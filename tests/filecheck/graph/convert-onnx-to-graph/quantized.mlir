// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

// A vector on the right is a column, which the result loses.
// CHECK-LABEL: func.func @vector
// CHECK: %[[COLUMN:.*]] = graph.expand_dims %w axes [1] : tensor<3xi8> -> tensor<3x1xi8>
// CHECK: %[[SUMS:.*]] = graph.matmul_integer %x, %[[COLUMN]]
// CHECK: graph.squeeze %[[SUMS]] axes [1] : tensor<2x1xi32> -> tensor<2xi32>
func.func @vector(%x: tensor<2x3xui8>, %w: tensor<3xi8>) {
  %0 = "onnx.MatMulInteger"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x3xui8>, tensor<3xi8>) -> !onnx.any
  func.return
}

// Narrow floats are scaled, multiplied as floats, and quantized.
// CHECK-LABEL: func.func @floats
// CHECK: %[[X:.*]] = graph.cast %x to f32
// CHECK: %[[A:.*]] = graph.multiply %[[X]], %s
// CHECK: %[[B:.*]] = graph.multiply %{{.*}}, %s : (tensor<3x4xf32>, tensor<f32>)
// CHECK: %[[Y:.*]] = graph.matmul %[[A]], %[[B]]
// CHECK: graph.quantize %[[Y]], %s to f8E4M3FN
func.func @floats(%x: tensor<2x3xf8E4M3FN>, %w: tensor<3x4xf8E4M3FN>, %s: tensor<f32>, %p: tensor<f8E4M3FN>) {
  %0 = "onnx.QLinearMatMul"(%x, %s, %p, %w, %s, %p, %s, %p) : (tensor<2x3xf8E4M3FN>, tensor<f32>, tensor<f8E4M3FN>, tensor<3x4xf8E4M3FN>, tensor<f32>, tensor<f8E4M3FN>, tensor<f32>, tensor<f8E4M3FN>) -> !onnx.any
  func.return
}

// One zero point for all scales is a scalar.
// CHECK-LABEL: func.func @one_point
// CHECK: %[[Z:.*]] = graph.reshape %z shape <[]>
// CHECK: graph.dequantize %x, {{.*}} zero_point %[[Z]] : tensor<ui8> axis 1 to f32 : (tensor<2x4xui8>, tensor<4xf32>)
func.func @one_point(%x: tensor<2x4xui8>, %s: tensor<?xf32>, %z: tensor<1xui8>) {
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) <{axis = 1 : i64}> : (tensor<2x4xui8>, tensor<?xf32>, tensor<1xui8>) -> !onnx.any
  func.return
}
