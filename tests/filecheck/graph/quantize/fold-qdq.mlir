// RUN: stepwell-opt %s -p fold-qdq | filecheck %s
// RUN: stepwell-opt %s -p fold-qdq,fold-qdq | filecheck %s

// A product of dequantized bytes is a product of bytes; the sum is scaled in units of the result.
// CHECK-LABEL: @product
func.func @product(%x: tensor<8x4xui8>, %b: tensor<2xf32>) -> tensor<8x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %w = graph.constant dense<[[1, -2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %t = graph.constant dense<[0.25, 2.0]> : tensor<2xf32>
  %u = graph.constant dense<4.0> : tensor<f32>
  // CHECK: %[[SUM:.*]] = graph.matmul_integer %x, %{{.*}} a_zero_point %{{.*}} : tensor<ui8> : (tensor<8x4xui8>, tensor<4x2xi8>) -> tensor<8x2xi32>
  // CHECK: %[[SCALE:.*]] = graph.multiply
  // CHECK: %[[Y:.*]] = graph.dequantize %[[SUM]], %[[SCALE]] axis 1 to f32
  // CHECK: graph.quantize %[[Y]]
  %0 = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32 : (tensor<8x4xui8>, tensor<f32>) -> tensor<8x4xf32>
  %1 = graph.dequantize %w, %t axis 1 to f32 : (tensor<4x2xi8>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = graph.matmul %0, %1 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %3 = graph.quantize %2, %u to ui8 : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xui8>
  func.return %3 : tensor<8x2xui8>
}

// Known scales meet: through biases, sums and ReLU, which the least number of the type makes superfluous.
// CHECK-LABEL: @units
func.func @units(%acc: tensor<8x2xi32>, %r: tensor<8x2xui8>) -> tensor<8x2xui8> {
  %s = graph.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %b = graph.constant dense<[3.0, -1.0]> : tensor<2xf32>
  %t = graph.constant dense<0.25> : tensor<f32>
  // CHECK-DAG: %[[S:.*]] = graph.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: %[[B:.*]] = graph.constant dense<[1.200000e+01, -4.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: %[[A:.*]] = graph.dequantize %acc, %[[S]] axis 1 to f32
  // CHECK-DAG: %[[C:.*]] = graph.bias_add %[[A]], %[[B]]
  // CHECK: %[[D:.*]] = graph.add %[[C]], %
  // CHECK-NOT: graph.relu
  // CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: graph.quantize %[[D]], %[[ONE]]
  %0 = graph.dequantize %acc, %s axis 1 to f32 : (tensor<8x2xi32>, tensor<2xf32>) -> tensor<8x2xf32>
  %1 = graph.bias_add %0, %b axis 1 : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %2 = graph.dequantize %r, %t to f32 : (tensor<8x2xui8>, tensor<f32>) -> tensor<8x2xf32>
  %3 = graph.add %1, %2 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %4 = graph.relu %3 : tensor<8x2xf32> -> tensor<8x2xf32>
  %5 = graph.quantize %4, %t to ui8 : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xui8>
  func.return %5 : tensor<8x2xui8>
}

// The greatest number is the greatest byte; the same scale twice is nothing.
// CHECK-LABEL: @pool
func.func @pool(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  // CHECK: %[[P:.*]] = graph.pool %x {{.*}} -> tensor<1x2x2x2xui8>
  // CHECK: func.return %[[P]]
  %0 = graph.dequantize %x, %s to f32 : (tensor<1x2x4x4xui8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %1 = graph.pool %0 kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %2 = graph.quantize %1, %s to ui8 : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xui8>
  func.return %2 : tensor<1x2x2x2xui8>
}

// Not folded: a factor that is computed in a sum of open length, scales along the sum, a ReLU below whose zero there are numbers.
// CHECK-LABEL: @kept
func.func @kept(%x: tensor<8x4xui8>, %v: tensor<8x?xui8, #graph.dims<[8, "K"]>>, %w: tensor<?x2xi8, #graph.dims<["K", 2]>>, %y: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xi8>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %c = graph.constant dense<[[1, -2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %t = graph.constant dense<[0.25, 2.0, 1.0, 3.0]> : tensor<4xf32>
  // CHECK-COUNT-2: graph.matmul %
  // CHECK: graph.relu
  %0 = graph.dequantize %x, %s to f32 : (tensor<8x4xui8>, tensor<f32>) -> tensor<8x4xf32>
  %f = graph.dequantize %v, %s to f32 : (tensor<8x?xui8, #graph.dims<[8, "K"]>>, tensor<f32>) -> tensor<8x?xf32, #graph.dims<[8, "K"]>>
  %1 = graph.dequantize %w, %s to f32 : (tensor<?x2xi8, #graph.dims<["K", 2]>>, tensor<f32>) -> tensor<?x2xf32, #graph.dims<["K", 2]>>
  %2 = graph.matmul %f, %1 : (tensor<8x?xf32, #graph.dims<[8, "K"]>>, tensor<?x2xf32, #graph.dims<["K", 2]>>) -> tensor<8x2xf32>
  %3 = graph.dequantize %c, %t to f32 : (tensor<4x2xi8>, tensor<4xf32>) -> tensor<4x2xf32>
  %4 = graph.matmul %0, %3 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %5 = graph.relu %y : tensor<8x2xf32> -> tensor<8x2xf32>
  %6 = graph.quantize %5, %s to i8 : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xi8>
  func.return %2, %4, %6 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xi8>
}

// Not folded either: weights with a scale for each block of rows, along the sum or along the columns.
// CHECK-LABEL: @blocks
// CHECK-NOT: matmul_integer
// CHECK: return
func.func @blocks(%x: tensor<8x4xui8>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.constant dense<[[1, -2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %t = graph.constant dense<[[0.25, 2.0], [0.5, 1.0]]> : tensor<2x2xf32>
  %u = graph.constant dense<[[0.25], [2.0], [0.5], [1.0]]> : tensor<4x1xf32>
  %0 = graph.dequantize %x, %s to f32 : (tensor<8x4xui8>, tensor<f32>) -> tensor<8x4xf32>
  %1 = graph.dequantize %w, %t axis 0 block 2 to f32 : (tensor<4x2xi8>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %2 = graph.matmul %0, %1 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %3 = graph.dequantize %w, %u axis 1 block 2 to f32 : (tensor<4x2xi8>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %4 = graph.matmul %0, %3 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  func.return %2, %4 : tensor<8x2xf32>, tensor<8x2xf32>
}

// A constant that is added before the quantize is divided by its scale too.
// CHECK-LABEL: @constant_addend
// CHECK-DAG: %[[S:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C:.*]] = graph.constant dense<[1.200000e+01, -4.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[A:.*]] = graph.dequantize %acc, %[[S]]
// CHECK: %[[D:.*]] = graph.add %[[A]], %[[C]]
// CHECK: graph.quantize %[[D]], %{{.*}}
func.func @constant_addend(%acc: tensor<8x2xi32>) -> tensor<8x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %c = graph.constant dense<[3.0, -1.0]> : tensor<2xf32>
  %t = graph.constant dense<0.25> : tensor<f32>
  %0 = graph.dequantize %acc, %s to f32 : (tensor<8x2xi32>, tensor<f32>) -> tensor<8x2xf32>
  %1 = graph.add %0, %c : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  %2 = graph.quantize %1, %t to ui8 : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xui8>
  func.return %2 : tensor<8x2xui8>
}

// Scales of a convolution's filters are those of its channels.
// CHECK-LABEL: @conv
func.func @conv(%x: tensor<1x2x4x4xui8>) -> tensor<1x3x4x4xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.constant dense<[[[[1]], [[2]]], [[[3]], [[4]]], [[[-3]], [[0]]]]> : tensor<3x2x1x1xi8>
  %t = graph.constant dense<[0.25, 2.0, 4.0]> : tensor<3xf32>
  // CHECK: %[[SUM:.*]] = graph.conv_integer %x, %w
  // CHECK: %[[SCALE:.*]] = graph.multiply %s, %t
  // CHECK: graph.dequantize %[[SUM]], %[[SCALE]] axis 1 to f32
  %0 = graph.dequantize %x, %s to f32 : (tensor<1x2x4x4xui8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %1 = graph.dequantize %w, %t axis 0 to f32 : (tensor<3x2x1x1xi8>, tensor<3xf32>) -> tensor<3x2x1x1xf32>
  %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  func.return %2 : tensor<1x3x4x4xf32>
}

// Equal scales and zero points are nothing, whichever constants they are; different ones remain.
// CHECK-LABEL: @again
func.func @again(%x: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>, tensor<4xui8>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<0.25> : tensor<f32>
  %u = graph.constant dense<0.5> : tensor<f32>
  %y = graph.constant dense<3> : tensor<ui8>
  %z = graph.constant dense<4> : tensor<ui8>
  // CHECK: %[[SCALE:.*]] = graph.quantize {{.*}} zero_point %y
  // CHECK: %[[POINT:.*]] = graph.quantize {{.*}} zero_point %z
  // CHECK: func.return %x, %[[SCALE]], %[[POINT]]
  %0 = graph.dequantize %x, %s zero_point %y : tensor<ui8> to f32 : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.quantize %0, %u zero_point %y : tensor<ui8> to ui8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
  %2 = graph.quantize %0, %t zero_point %y : tensor<ui8> to ui8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
  %3 = graph.quantize %0, %s zero_point %z : tensor<ui8> to ui8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
  func.return %1, %2, %3 : tensor<4xui8>, tensor<4xui8>, tensor<4xui8>
}

// The scales of channels are those of the layouts: channels last here, and filters with their channels first.
// CHECK-LABEL: @channels_last
func.func @channels_last(%x: tensor<1x4x4x2xui8>) -> tensor<1x4x4x3xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.constant dense<[[[[1, 2]]], [[[3, 4]]], [[[5, 6]]]]> : tensor<3x1x1x2xi8>
  %t = graph.constant dense<[0.25, 2.0, 4.0]> : tensor<3xf32>
  // CHECK: %[[SUM:.*]] = graph.conv_integer
  // CHECK: graph.dequantize %[[SUM]], %{{.*}} axis 3 to f32 : (tensor<1x4x4x3xi32>, tensor<3xf32>)
  %0 = graph.dequantize %x, %s to f32 : (tensor<1x4x4x2xui8>, tensor<f32>) -> tensor<1x4x4x2xf32>
  %1 = graph.dequantize %w, %t to f32 : (tensor<3x1x1x2xi8>, tensor<3xf32>) -> tensor<3x1x1x2xf32>
  %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NHWC" kernel_layout "OHWI" : (tensor<1x4x4x2xf32>, tensor<3x1x1x2xf32>) -> tensor<1x4x4x3xf32>
  func.return %2 : tensor<1x4x4x3xf32>
}
