// RUN: stepwell-opt %s -p requantize-in-integers,dead-code-elimination | filecheck %s

// Scales 0.5 and 0.25 over 2.0: 2^-2 and 2^-3, factors of 31 bits; biases over the scales of the sums.
// CHECK-LABEL: @conv
// CHECK: %[[S:.*]] = graph.conv_integer
// CHECK: %[[I:.*]] = graph.constant dense<[2, -8]> : tensor<2xi32>
// CHECK: graph.bias_add %[[S]], %[[I]] axis 1
// CHECK: graph.cast {{.*}} to i64
// CHECK: graph.constant dense<1073741824> : tensor<2x1x1xi64>
// CHECK: graph.multiply
// CHECK: graph.add
// CHECK: graph.constant dense<{{\[\[\[}}32]], {{\[\[}}33]]]> : tensor<2x1x1xi64>
// CHECK: graph.shift_right
// CHECK: graph.constant dense<7> : tensor<i64>
// CHECK: graph.clip
// CHECK: graph.cast {{.*}} to ui8
// CHECK-NOT: f32
func.func @conv(%x: tensor<1x3x4x4xui8>, %w: tensor<2x3x3x3xi8>) -> tensor<1x2x4x4xui8> {
  %c = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %k = graph.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %q = graph.constant dense<2.0> : tensor<f32>
  %z = graph.constant dense<7> : tensor<ui8>
  %s = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x3x4x4xui8>, tensor<2x3x3x3xi8>) -> tensor<1x2x4x4xi32>
  %d = graph.dequantize %s, %c axis 1 to f32 : (tensor<1x2x4x4xi32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %b = graph.bias_add %d, %k axis 1 : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = graph.quantize %b, %q zero_point %z : tensor<ui8> to ui8 : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xui8>
  func.return %y : tensor<1x2x4x4xui8>
}

// A sum of bytes: each operand less its zero point, with 12 fractional bits.
// CHECK-LABEL: @sum
// CHECK: graph.constant dense<-3> : tensor<i32>
// CHECK-COUNT-3: graph.shift_right
// CHECK-NOT: graph.quantize
func.func @sum(%x: tensor<1x2x4x4xui8>, %y: tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %a = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32 : (tensor<1x2x4x4xui8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %b = graph.dequantize %y, %s to f32 : (tensor<1x2x4x4xui8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %c = graph.add %a, %b : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %q = graph.quantize %c, %s to ui8 : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xui8>
  func.return %q : tensor<1x2x4x4xui8>
}

// Scales that are not constant stay floats.
// CHECK-LABEL: @unknown
// CHECK: graph.quantize
func.func @unknown(%x: tensor<1x3x4x4xui8>, %w: tensor<2x3x3x3xi8>, %q: tensor<f32>) -> tensor<1x2x4x4xui8> {
  %c = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %s = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x3x4x4xui8>, tensor<2x3x3x3xi8>) -> tensor<1x2x4x4xi32>
  %d = graph.dequantize %s, %c axis 1 to f32 : (tensor<1x2x4x4xi32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %y = graph.quantize %d, %q to ui8 : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xui8>
  func.return %y : tensor<1x2x4x4xui8>
}

// A product of rows by a matrix, whose columns have scales: factors are a row too.
// CHECK-LABEL: @matmul
// CHECK: graph.matmul_integer
// CHECK: graph.bias_add {{.*}} axis 1
// CHECK: graph.constant dense<1073741824> : tensor<2xi64>
// CHECK: graph.multiply
// CHECK: graph.shift_right
// CHECK: graph.cast {{.*}} to ui8
// CHECK-NOT: f32
func.func @matmul(%x: tensor<3x4xui8>, %w: tensor<4x2xi8>) -> tensor<3x2xui8> {
  %c = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %q = graph.constant dense<2.0> : tensor<f32>
  %s = graph.matmul_integer %x, %w : (tensor<3x4xui8>, tensor<4x2xi8>) -> tensor<3x2xi32>
  %d = graph.dequantize %s, %c axis 1 to f32 : (tensor<3x2xi32>, tensor<2xf32>) -> tensor<3x2xf32>
  %y = graph.quantize %d, %q to ui8 : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xui8>
  func.return %y : tensor<3x2xui8>
}

// A bias with which a sum of 4 products could exceed 32 bits stays a float, and so does NaN.
// CHECK-LABEL: @large_bias
// CHECK: graph.bias_add {{.*}}xf32>
// CHECK: graph.bias_add {{.*}}xf32>
// CHECK-NOT: graph.shift_right
func.func @large_bias(%x: tensor<3x4xui8>, %w: tensor<4x2xi8>) -> (tensor<3x2xui8>, tensor<3x2xui8>) {
  %c = graph.constant dense<1.0> : tensor<f32>
  %k = graph.constant dense<[0.0, 2147400000.0]> : tensor<2xf32>
  %n = graph.constant dense<[0.0, 0x7FC00000]> : tensor<2xf32>
  %s = graph.matmul_integer %x, %w : (tensor<3x4xui8>, tensor<4x2xi8>) -> tensor<3x2xi32>
  %d = graph.dequantize %s, %c axis 1 to f32 : (tensor<3x2xi32>, tensor<f32>) -> tensor<3x2xf32>
  %b = graph.bias_add %d, %k axis 1 : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %y = graph.quantize %b, %c to ui8 : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xui8>
  %e = graph.bias_add %d, %n axis 1 : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %z = graph.quantize %e, %c to ui8 : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xui8>
  func.return %y, %z : tensor<3x2xui8>, tensor<3x2xui8>
}
