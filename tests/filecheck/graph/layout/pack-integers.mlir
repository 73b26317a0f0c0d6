// RUN: stepwell-opt %s -p 'pack-integers{lanes=4}' | filecheck %s
// RUN: stepwell-opt %s -p 'pack-integers{lanes=4},pack-integers{lanes=4}' | filecheck %s

// Words of four bytes along the sum, in panels of four columns; the zero point times their sums is taken off.
// CHECK-LABEL: @product
func.func @product(%a: tensor<2x4xui8>) -> tensor<2x4xi32> {
  %p = graph.constant dense<3> : tensor<ui8>
  %b = graph.constant dense<[[1, -2, 0, 1], [3, 4, 0, 0], [5, 6, 0, 0], [7, 8, 0, -1]]> : tensor<4x4xi8>
  // CHECK-DAG: %[[A:.*]] = graph.words %a : tensor<2x4xui8> -> tensor<2x1xi32>
  // CHECK-DAG: %[[B:.*]] = graph.constant dense<{{\[\[\[}}117768961, 134612222, 0, -16777215]]]> : tensor<1x1x4xi32>
  // CHECK: %[[S:.*]] = graph.matmul_integer %[[A]], %[[B]]
  // CHECK: %[[C:.*]] = graph.constant dense<[-48, -48, 0, 0]> : tensor<4xi32>
  // CHECK: graph.bias_add %[[S]], %[[C]] axis 1
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> : (tensor<2x4xui8>, tensor<4x4xi8>) -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}

// Signed bytes are flipped, and their zero point with them, which is known at run time only.
// CHECK-LABEL: @signed
func.func @signed(%a: tensor<2x4xi8>, %p: tensor<i8>) -> tensor<2x4xi32> {
  %b = graph.constant dense<[[1, -2, 0, 1], [3, 4, 0, 0], [5, 6, 0, 0], [7, 8, 0, -1]]> : tensor<4x4xi8>
  // CHECK: %[[F:.*]] = graph.xor %a
  // CHECK: %[[U:.*]] = graph.bitcast %[[F]] to ui8
  // CHECK-DAG: graph.words %[[U]]
  // CHECK-DAG: %[[G:.*]] = graph.xor %p
  // CHECK: graph.multiply
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<i8> : (tensor<2x4xi8>, tensor<4x4xi8>) -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}

// Channels come last: one of four bytes of a word; what follows keeps the order, the result gets it back.
// CHECK-LABEL: @conv
func.func @conv(%x: tensor<1x1x4x4xui8>, %s: tensor<f32>) -> tensor<1x4x5x5xf32> {
  %p = graph.constant dense<7> : tensor<ui8>
  %w = graph.constant dense<[[[[1]]], [[[2]]], [[[-3]]], [[[4]]]]> : tensor<4x1x1x1xi8>
  // CHECK: %[[L:.*]] = graph.cast %x to i32
  // CHECK: %[[W:.*]] = graph.reshape %[[L]] shape <[1, 4, 4, 1]>
  // CHECK: %[[C:.*]] = graph.conv_integer %[[W]], %{{.*}} strides [1, 1] dilations [1, 1] pads [1, 1, 0, 0] border 7 data_layout "NHWC" kernel_layout "OHWI4o"
  // CHECK: %[[B:.*]] = graph.bias_add %[[C]], %{{.*}} axis 3
  // CHECK: %[[D:.*]] = graph.dequantize %[[B]], %s to f32
  // CHECK: %[[R:.*]] = graph.relu %[[D]]
  // CHECK: graph.layout_transform %[[R]] from "NHWC" to "NCHW"
  // CHECK-NOT: graph.layout_transform
  %0 = graph.conv_integer %x, %w x_zero_point %p : tensor<ui8> strides [1, 1] dilations [1, 1] pads [1, 1, 0, 0] : (tensor<1x1x4x4xui8>, tensor<4x1x1x1xi8>) -> tensor<1x4x5x5xi32>
  %1 = graph.dequantize %0, %s to f32 : (tensor<1x4x5x5xi32>, tensor<f32>) -> tensor<1x4x5x5xf32>
  %2 = graph.relu %1 : tensor<1x4x5x5xf32> -> tensor<1x4x5x5xf32>
  func.return %2 : tensor<1x4x5x5xf32>
}

// Scales of channels, pools, joins and transposes: what `convert-layout` knows keeps the order too.
// CHECK-LABEL: @between
func.func @between(%x: tensor<1x4x4x4xui8>, %s: tensor<4xf32>) -> tensor<1x2x2x8xf32> {
  %w = graph.constant dense<[[[[1]], [[0]], [[0]], [[1]]], [[[2]], [[0]], [[0]], [[1]]], [[[-3]], [[0]], [[0]], [[1]]], [[[4]], [[0]], [[0]], [[1]]]]> : tensor<4x4x1x1xi8>
  // CHECK: %[[C:.*]] = graph.conv_integer
  // CHECK: %[[D:.*]] = graph.dequantize %[[C]], %s axis 3 to f32
  // CHECK: %[[P:.*]] = graph.pool %[[D]] {{.*}} data_layout "NHWC"
  // CHECK: %[[J:.*]] = graph.concat %[[P]], %[[P]] axis 3
  // CHECK-NEXT: func.return %[[J]]
  %0 = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x4x4xui8>, tensor<4x4x1x1xi8>) -> tensor<1x4x4x4xi32>
  %1 = graph.dequantize %0, %s axis 1 to f32 : (tensor<1x4x4x4xi32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  %2 = graph.pool %1 kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x4x4x4xf32> -> tensor<1x4x2x2xf32>
  %3 = graph.concat %2, %2 axis 1 : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x8x2x2xf32>
  %4 = graph.transpose %3 perm [0, 2, 3, 1] : tensor<1x8x2x2xf32> -> tensor<1x2x2x8xf32>
  func.return %4 : tensor<1x2x2x8xf32>
}

// One filter a channel stays in bytes: each lane has its own.
// CHECK-LABEL: @depthwise
func.func @depthwise(%x: tensor<1x4x3x3xui8>) -> tensor<1x4x2x2xi32> {
  %w = graph.constant dense<[[[[1, 2], [3, 4]]], [[[5, 6], [7, 8]]], [[[-1, -2], [-3, -4]]], [[[0, 0], [0, 9]]]]> : tensor<4x1x2x2xi8>
  // CHECK: %[[L:.*]] = graph.layout_transform %x from "NCHW" to "NHWC"
  // CHECK: %[[W:.*]] = graph.constant dense<{{\[\[\[}}[1, 5, -1, 0], [2, 6, -2, 0]], {{.*}}> : tensor<1x2x2x4xi8>
  // CHECK: graph.conv_integer %[[L]], %[[W]] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 4 data_layout "NHWC" kernel_layout "IHWO"
  %0 = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 4 : (tensor<1x4x3x3xui8>, tensor<4x1x2x2xi8>) -> tensor<1x4x2x2xi32>
  func.return %0 : tensor<1x4x2x2xi32>
}

// Weights less their zero points do not fit a byte: these are taken off by the sums of the rows.
// CHECK-LABEL: @wide
func.func @wide(%a: tensor<2x4xui8>) -> tensor<2x4xi32> {
  %p = graph.constant dense<3> : tensor<ui8>
  %z = graph.constant dense<9> : tensor<ui8>
  %b = graph.constant dense<[[0, 255, 0, 1], [7, 8, 0, 9], [1, 1, 1, 1], [2, 2, 2, 2]]> : tensor<4x4xui8>
  // CHECK: %[[S:.*]] = graph.matmul_integer
  // CHECK: %[[C:.*]] = graph.bias_add %[[S]]
  // CHECK: %[[W:.*]] = graph.cast %a to i32
  // CHECK: %[[R:.*]] = graph.reduce %[[W]] kind "sum" axes [1] keep_dims true
  // CHECK: %[[D:.*]] = graph.subtract %[[R]]
  // CHECK: %[[Z:.*]] = graph.constant dense<-119> : tensor<i32>
  // CHECK: %[[T:.*]] = graph.multiply %[[D]], %[[Z]]
  // CHECK: graph.subtract %[[C]], %[[T]]
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> b_zero_point %z : tensor<ui8> : (tensor<2x4xui8>, tensor<4x4xui8>) -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}

// Five columns are one panel.
// CHECK-LABEL: @five
func.func @five(%a: tensor<2x2xui8>) -> tensor<2x5xi32> {
  // CHECK: graph.matmul_integer %{{.*}}, %{{.*}} : (tensor<2x1xi32>, tensor<1x1x5xi32>) -> tensor<2x5xi32>
  %b = graph.constant dense<[[1, -2, 0, 1, 3], [7, 8, 0, -1, 9]]> : tensor<2x5xi8>
  %0 = graph.matmul_integer %a, %b : (tensor<2x2xui8>, tensor<2x5xi8>) -> tensor<2x5xi32>
  func.return %0 : tensor<2x5xi32>
}

// The borders of a zero point that is known at run time are made beforehand; planes become words by shifts.
// CHECK-LABEL: @run_time
func.func @run_time(%x: tensor<1x2x3x3xui8>, %p: tensor<ui8>) -> tensor<1x4x5x2xi32> {
  // CHECK: %[[X:.*]] = graph.pad %x with %p : tensor<ui8> pads <[0, 0, 1, 0, 0, 0, 1, 0]>
  // CHECK: graph.slice %[[X]] starts <[0, 1, 0, 0]>
  // CHECK: %[[U:.*]] = graph.multiply
  // CHECK: %[[W:.*]] = graph.add %{{.*}}, %[[U]]
  // CHECK: graph.conv_integer %{{.*}} pads [0, 0, 0, 0]
  // CHECK: graph.cast %p
  %w = graph.constant dense<[[[[1, 2]], [[4, 5]]], [[[1, 2]], [[4, 5]]], [[[1, 2]], [[4, 5]]], [[[1, 2]], [[4, 5]]]]> : tensor<4x2x1x2xi8>
  %y = graph.conv_integer %x, %w x_zero_point %p : tensor<ui8> strides [1, 1] dilations [1, 1] pads [1, 0, 1, 0]
    : (tensor<1x2x3x3xui8>, tensor<4x2x1x2xi8>) -> tensor<1x4x5x2xi32>
  func.return %y : tensor<1x4x5x2xi32>
}

// Neither operand is constant: sums of floats, each part of them exact.
// CHECK-LABEL: @activations
func.func @activations(%a: tensor<2x8x300xui8>, %b: tensor<2x300x4xi8>, %p: tensor<ui8>) -> tensor<2x8x4xi32> {
  // CHECK-DAG: %[[A:.*]] = graph.cast %a to f32
  // CHECK-DAG: %[[P:.*]] = graph.cast %p to f32
  // CHECK: %[[C:.*]] = graph.subtract %[[A]], %[[P]]
  // CHECK: graph.slice %[[C]] {{.*}}tensor<2x8x150xf32>
  // CHECK: %[[Y:.*]] = graph.matmul
  // CHECK: graph.cast %[[Y]] to i32
  // CHECK: graph.matmul
  // CHECK: graph.add {{.*}} tensor<2x8x4xi32>
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> : (tensor<2x8x300xui8>, tensor<2x300x4xi8>) -> tensor<2x8x4xi32>
  func.return %0 : tensor<2x8x4xi32>
}

// Not packed: one column fills no panel; a sum of unknown length may not be exact in floats.
// CHECK-LABEL: @kept
func.func @kept(%a: tensor<2x2xui8>, %c: tensor<2x?xui8, #graph.dims<[2, "K"]>>, %d: tensor<?x4xi8, #graph.dims<["K", 4]>>) -> (tensor<2x1xi32>, tensor<2x4xi32>) {
  // CHECK-NOT: graph.words
  // CHECK-NOT: graph.matmul %
  %b = graph.constant dense<[[1], [7]]> : tensor<2x1xi8>
  %0 = graph.matmul_integer %a, %b : (tensor<2x2xui8>, tensor<2x1xi8>) -> tensor<2x1xi32>
  %1 = graph.matmul_integer %c, %d : (tensor<2x?xui8, #graph.dims<[2, "K"]>>, tensor<?x4xi8, #graph.dims<["K", 4]>>) -> tensor<2x4xi32>
  func.return %0, %1 : tensor<2x1xi32>, tensor<2x4xi32>
}
