// RUN: stepwell-opt %s -p 'pack-integers{lanes=4 shorts=true}' | filecheck %s
// RUN: stepwell-opt %s -p 'pack-integers{lanes=4 shorts=true},pack-integers{lanes=4 shorts=true}' | filecheck %s

// Bytes less their zero points, in 16 bits: nothing is left to take off the sums.
// CHECK-LABEL: @product
func.func @product(%a: tensor<2x3xui8>) -> tensor<2x4xi32> {
  %p = graph.constant dense<3> : tensor<ui8>
  %z = graph.constant dense<2> : tensor<ui8>
  %b = graph.constant dense<[[255, 2, 2, 2], [3, 2, 2, 2], [2, 0, 2, 2]]> : tensor<3x4xui8>
  // CHECK: %[[W:.*]] = graph.cast %a to i16
  // CHECK: %[[Z:.*]] = graph.cast %{{.*}} to i16
  // CHECK: %[[C:.*]] = graph.subtract %[[W]], %[[Z]]
  // CHECK: %[[B:.*]] = graph.constant dense<{{\[\[\[}}65789, 0, 0, 0], [0, 65534, 0, 0]]]> : tensor<1x2x4xi32>
  // CHECK: %[[P:.*]] = graph.pad %[[C]]
  // CHECK: %[[A:.*]] = graph.words %[[P]] : tensor<2x4xi16> -> tensor<2x2xi32>
  // CHECK: %[[S:.*]] = graph.matmul_integer %[[A]], %[[B]] parts 2
  // CHECK: func.return %[[S]]
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> b_zero_point %z : tensor<ui8> : (tensor<2x3xui8>, tensor<3x4xui8>) -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}

// CHECK-LABEL: @conv
func.func @conv(%x: tensor<1x2x4x4xi8>) -> tensor<1x4x4x4xi32> {
  %w = graph.constant dense<[[[[1]], [[2]]], [[[3]], [[4]]], [[[-3]], [[0]]], [[[4]], [[0]]]]> : tensor<4x2x1x1xi8>
  // CHECK: %[[L:.*]] = graph.layout_transform %x from "NCHW" to "NHWC"
  // CHECK: %[[C:.*]] = graph.cast %[[L]] to i16
  // CHECK: %[[W:.*]] = graph.words %[[C]] : tensor<1x4x4x2xi16> -> tensor<1x4x4x1xi32>
  // CHECK: graph.conv_integer %[[W]], %{{.*}} strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] parts 2 data_layout "NHWC" kernel_layout "OHWI4o"
  %0 = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xi8>, tensor<4x2x1x1xi8>) -> tensor<1x4x4x4xi32>
  func.return %0 : tensor<1x4x4x4xi32>
}

// Filters in another order stay.
// CHECK-LABEL: @other_kernel_layout
// CHECK: graph.conv_integer %x, %w {{.*}} kernel_layout "HWIO" : (tensor<1x1x4x4xi8>, tensor<4x1x1x4xi8>)
func.func @other_kernel_layout(%x: tensor<1x1x4x4xi8>) -> tensor<1x4x1x4xi32> {
  %w = graph.constant dense<[[[[1, 3, -3, 4]]], [[[1, 3, -3, 4]]], [[[1, 3, -3, 4]]], [[[1, 3, -3, 4]]]]> : tensor<4x1x1x4xi8>
  %0 = graph.conv_integer %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] kernel_layout "HWIO" : (tensor<1x1x4x4xi8>, tensor<4x1x1x4xi8>) -> tensor<1x4x1x4xi32>
  func.return %0 : tensor<1x4x1x4xi32>
}
