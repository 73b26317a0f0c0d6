// RUN: stepwell-opt %s -p put-channels-first | filecheck %s

// What is between two convolutions stays in the order of the first one, with the bias and constants rearranged.
// CHECK-LABEL: @block
// CHECK: %[[X:.*]] = graph.transpose %x perm [0, 3, 1, 2]
// CHECK: %[[W:.*]] = graph.transpose %w perm [0, 3, 1, 2] : tensor<8x3x3x3xf32> -> tensor<8x3x3x3xf32>
// CHECK: %[[C:.*]] = graph.conv %[[X]], %[[W]] strides [2, 2] dilations [1, 1] pads [0, 0, 1, 1] : (
// CHECK: %[[B:.*]] = graph.bias_add %[[C]], %b axis 1
// CHECK: %[[S:.*]] = graph.constant dense<{{.*}}> : tensor<1x8x1x1xf32>
// CHECK: %[[M:.*]] = graph.multiply %[[B]], %[[S]] : (tensor<1x8x4x4xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x4x4xf32>
// CHECK: %[[P:.*]] = graph.pool %[[M]] kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x8x4x4xf32>
// CHECK: %[[D:.*]] = graph.transpose %d perm [3, 0, 1, 2] : tensor<1x1x1x8xf32> -> tensor<8x1x1x1xf32>
// CHECK: %[[Y:.*]] = graph.conv %[[P]], %[[D]] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 8 : (
// CHECK: graph.reduce %[[Y]] kind "mean" axes [2, 3] keep_dims false : tensor<1x8x2x2xf32> -> tensor<1x8xf32>
func.func @block(%x: tensor<1x8x8x3xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>, %d: tensor<1x1x1x8xf32>) -> tensor<1x8xf32> {
  %0 = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [0, 0, 1, 1] data_layout "NHWC" kernel_layout "OHWI" : (tensor<1x8x8x3xf32>, tensor<8x3x3x3xf32>) -> tensor<1x4x4x8xf32>
  %1 = graph.bias_add %0, %b axis 3 : (tensor<1x4x4x8xf32>, tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %s = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %2 = graph.multiply %1, %s : (tensor<1x4x4x8xf32>, tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %3 = graph.pool %2 kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NHWC" : tensor<1x4x4x8xf32> -> tensor<1x2x2x8xf32>
  %4 = graph.conv %3, %d strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 8 data_layout "NHWC" kernel_layout "IHWO" : (tensor<1x2x2x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x2x2x8xf32>
  %5 = graph.reduce %4 kind "mean" axes [1, 2] keep_dims false : tensor<1x2x2x8xf32> -> tensor<1x8xf32>
  func.return %5 : tensor<1x8xf32>
}
// Other ops get the model's order back, once for all of them; a concat of channels does not need it.
// CHECK-LABEL: @back
// CHECK: %[[C:.*]] = graph.conv
// CHECK: %[[J:.*]] = graph.concat %[[C]], %[[C]] axis 1
// CHECK: %[[Y:.*]] = graph.transpose %[[J]] perm [0, 2, 3, 1] : tensor<1x4x5x5xf32> -> tensor<1x5x5x4xf32>
// CHECK: graph.reshape %[[Y]] shape <[100]>
// CHECK: return %{{.*}}, %[[Y]]
func.func @back(%x: tensor<1x5x5x3xf32>, %w: tensor<2x1x1x3xf32>) -> (tensor<100xf32>, tensor<1x5x5x4xf32>) {
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NHWC" kernel_layout "OHWI" : (tensor<1x5x5x3xf32>, tensor<2x1x1x3xf32>) -> tensor<1x5x5x2xf32>
  %1 = graph.concat %0, %0 axis 3 : (tensor<1x5x5x2xf32>, tensor<1x5x5x2xf32>) -> tensor<1x5x5x4xf32>
  %2 = graph.reshape %1 shape <[100]> : tensor<1x5x5x4xf32> -> tensor<100xf32>
  func.return %2, %1 : tensor<100xf32>, tensor<1x5x5x4xf32>
}
// Channels that are first already stay so.
// CHECK-LABEL: @first
// CHECK-NOT: graph.transpose
func.func @first(%x: tensor<1x3x5x5xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x2x5x5xf32> {
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x3x5x5xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x5x5xf32>
  func.return %0 : tensor<1x2x5x5xf32>
}
