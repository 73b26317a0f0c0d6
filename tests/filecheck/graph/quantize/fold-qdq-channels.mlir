// RUN: stepwell-opt %s -p fold-qdq --split-input-file | filecheck %s

// A depthwise convolution of an activation with a scale for each channel; equal zero points are one.
// CHECK-LABEL: @depthwise
// CHECK-DAG: %[[Z:.*]] = graph.constant dense<3> : tensor<ui8>
// CHECK: %[[SUM:.*]] = graph.conv_integer %x, %{{.*}} x_zero_point %[[Z]] : tensor<ui8> {{.*}} groups 2 : (tensor<1x2x4x4xui8>, tensor<2x1x2x2xi8>) -> tensor<1x2x4x4xi32>
// CHECK: %[[S:.*]] = graph.multiply %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK: graph.dequantize %[[SUM]], %[[S]] axis 1 to f32
func.func @depthwise(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32> {
  %s = graph.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %z = graph.constant dense<[3, 3]> : tensor<2xui8>
  %w = graph.constant dense<1> : tensor<2x1x2x2xi8>
  %t = graph.constant dense<0.25> : tensor<f32>
  %0 = graph.dequantize %x, %s zero_point %z : tensor<2xui8> axis 1 to f32 : (tensor<1x2x4x4xui8>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.dequantize %w, %t to f32 : (tensor<2x1x2x2xi8>, tensor<f32>) -> tensor<2x1x2x2xf32>
  %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 1, 1] groups 2 : (tensor<1x2x4x4xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x4x4xf32>
  func.return %2 : tensor<1x2x4x4xf32>
}

// -----

// Zero points that differ, scales along another axis, and a dense convolution, whose sums mix channels, stay in floats.
// CHECK-LABEL: @kept
// CHECK-NOT: conv_integer
func.func @kept(%x: tensor<1x2x2x2xui8>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %s = graph.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %z = graph.constant dense<[3, 4]> : tensor<2xui8>
  %w = graph.constant dense<1> : tensor<2x1x1x1xi8>
  %v = graph.constant dense<1> : tensor<2x2x1x1xi8>
  %t = graph.constant dense<0.25> : tensor<f32>
  %0 = graph.dequantize %x, %s zero_point %z : tensor<2xui8> axis 1 to f32 : (tensor<1x2x2x2xui8>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %1 = graph.dequantize %w, %t to f32 : (tensor<2x1x1x1xi8>, tensor<f32>) -> tensor<2x1x1x1xf32>
  %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x2x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %3 = graph.dequantize %x, %s axis 2 to f32 : (tensor<1x2x2x2xui8>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %4 = graph.conv %3, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x2x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %5 = graph.dequantize %x, %s axis 1 to f32 : (tensor<1x2x2x2xui8>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %6 = graph.dequantize %v, %t to f32 : (tensor<2x2x1x1xi8>, tensor<f32>) -> tensor<2x2x1x1xf32>
  %7 = graph.conv %5, %6 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  func.return %2, %4, %7 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// -----

// Sums in units of the scale of each channel; a scale for all of them becomes one for each.
// CHECK-LABEL: @units
// CHECK-DAG: %[[S:.*]] = graph.constant dense<[2.000000e+00, 5.000000e-01]> : tensor<2xf32>
// CHECK-DAG: %[[B:.*]] = graph.constant dense<[1.200000e+01, -1.000000e+00]> : tensor<2xf32>
// CHECK: %[[A:.*]] = graph.dequantize %acc, %[[S]] axis 1 to f32
// CHECK: %[[C:.*]] = graph.bias_add %[[A]], %[[B]] axis 1
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK: graph.quantize %[[C]], %[[ONE]] to ui8
func.func @units(%acc: tensor<8x2xi32>) -> tensor<8x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %b = graph.constant dense<[3.0, -1.0]> : tensor<2xf32>
  %t = graph.constant dense<[0.25, 1.0]> : tensor<2xf32>
  %0 = graph.dequantize %acc, %s to f32 : (tensor<8x2xi32>, tensor<f32>) -> tensor<8x2xf32>
  %1 = graph.bias_add %0, %b axis 1 : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %2 = graph.quantize %1, %t axis 1 to ui8 : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xui8>
  func.return %2 : tensor<8x2xui8>
}

// -----

// Other axes, and a constant that is added to all channels, are not divided.
// CHECK-LABEL: @other_axes
// CHECK-COUNT-3: graph.quantize %{{.*}}, %t
func.func @other_axes(%acc: tensor<2x2xi32>, %x: tensor<2x2xi32>, %y: tensor<2x2xi32>) -> (tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>) {
  %s = graph.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %b = graph.constant dense<[3.0, -1.0]> : tensor<2xf32>
  %c = graph.constant dense<[[3.0, -1.0], [2.0, 4.0]]> : tensor<2x2xf32>
  %t = graph.constant dense<[0.25, 2.0]> : tensor<2xf32>
  %0 = graph.dequantize %acc, %s axis 0 to f32 : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = graph.quantize %0, %t axis 1 to ui8 : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xui8>
  %2 = graph.dequantize %x, %s axis 1 to f32 : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xf32>
  %3 = graph.bias_add %2, %b axis 0 : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = graph.quantize %3, %t axis 1 to ui8 : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xui8>
  %5 = graph.dequantize %y, %s axis 1 to f32 : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xf32>
  %6 = graph.add %5, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = graph.quantize %6, %t axis 1 to ui8 : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xui8>
  func.return %1, %4, %7 : tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>
}

// -----

// Nor is a sum with an operand that is repeated: its axis 1 is axis 2 of the sum.
// CHECK-LABEL: @repeated
// CHECK: graph.quantize %{{.*}}, %t axis 1
func.func @repeated(%x: tensor<3x2x2xui8>, %y: tensor<2x2xui8>) -> tensor<3x2x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<[0.25, 2.0]> : tensor<2xf32>
  %0 = graph.dequantize %x, %s to f32 : (tensor<3x2x2xui8>, tensor<f32>) -> tensor<3x2x2xf32>
  %1 = graph.dequantize %y, %s to f32 : (tensor<2x2xui8>, tensor<f32>) -> tensor<2x2xf32>
  %2 = graph.add %0, %1 : (tensor<3x2x2xf32>, tensor<2x2xf32>) -> tensor<3x2x2xf32>
  %3 = graph.quantize %2, %t axis 1 to ui8 : (tensor<3x2x2xf32>, tensor<2xf32>) -> tensor<3x2x2xui8>
  func.return %3 : tensor<3x2x2xui8>
}

// -----

// Bounds that every channel saturates at: 6 is 255 by the greater scale, 0 the least byte.
// CHECK-LABEL: @saturates
// CHECK-NOT: graph.clip
// CHECK: graph.quantize %x, %{{.*}} axis 1
func.func @saturates(%x: tensor<4x2xf32>) -> tensor<4x2xui8> {
  %lo = graph.constant dense<0.0> : tensor<f32>
  %hi = graph.constant dense<6.0> : tensor<f32>
  %s = graph.constant dense<[0.02352941, 0.01]> : tensor<2xf32>
  %0 = graph.clip %x lo %lo : tensor<f32> hi %hi : tensor<f32> : tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = graph.quantize %0, %s axis 1 to ui8 : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xui8>
  func.return %1 : tensor<4x2xui8>
}

// -----

// A channel in which 6 is 250, a least byte below 0, and a scale that turns the order around: those bounds remain.
// CHECK-LABEL: @remain
// CHECK-DAG: graph.clip %x hi %
// CHECK-DAG: graph.clip %x lo %lo : tensor<f32> : tensor
// CHECK-DAG: graph.clip %x lo %lo : tensor<f32> hi
func.func @remain(%x: tensor<4x2xf32>) -> (tensor<4x2xui8>, tensor<4x2xi8>, tensor<4x2xui8>) {
  %lo = graph.constant dense<0.0> : tensor<f32>
  %hi = graph.constant dense<6.0> : tensor<f32>
  %s = graph.constant dense<[0.024, 0.01]> : tensor<2xf32>
  %t = graph.constant dense<0.04> : tensor<f32>
  %u = graph.constant dense<-0.01> : tensor<f32>
  %0 = graph.clip %x lo %lo : tensor<f32> hi %hi : tensor<f32> : tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = graph.quantize %0, %s axis 1 to ui8 : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xui8>
  %2 = graph.quantize %0, %t to i8 : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xi8>
  %3 = graph.quantize %0, %u to ui8 : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xui8>
  func.return %1, %2, %3 : tensor<4x2xui8>, tensor<4x2xi8>, tensor<4x2xui8>
}
