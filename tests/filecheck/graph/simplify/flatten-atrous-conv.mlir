// RUN: stepwell-opt %s -p flatten-atrous-conv,dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p FlattenAtrousConv,flatten-atrous-conv,dead-code-elimination | filecheck %s

// The pad and the crop around it go into the pads: 2 - 0 before, 3 - 1 behind.
// CHECK-LABEL: @padded
// CHECK-NEXT: graph.conv %x, %w strides [1, 1] dilations [2, 2] pads [2, 2, 2, 2]
// CHECK-NEXT: func.return
func.func @padded(%x: tensor<1x3x7x7xf32>, %w: tensor<5x3x3x3xf32>) -> tensor<1x5x7x7xf32> {
  %p = graph.pad %x pads <[0, 0, 2, 2, 0, 0, 3, 3]> mode "constant" : tensor<1x3x7x7xf32> -> tensor<1x3x12x12xf32>
  %0 = graph.reshape %p shape <[1, 3, 6, 2, 6, 2]> : tensor<1x3x12x12xf32> -> tensor<1x3x6x2x6x2xf32>
  %1 = graph.transpose %0 perm [3, 5, 0, 1, 2, 4] : tensor<1x3x6x2x6x2xf32> -> tensor<2x2x1x3x6x6xf32>
  %2 = graph.reshape %1 shape <[4, 3, 6, 6]> : tensor<2x2x1x3x6x6xf32> -> tensor<4x3x6x6xf32>
  %3 = graph.conv %2, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<4x3x6x6xf32>, tensor<5x3x3x3xf32>) -> tensor<4x5x4x4xf32>
  %4 = graph.reshape %3 shape <[2, 2, 1, 5, 4, 4]> : tensor<4x5x4x4xf32> -> tensor<2x2x1x5x4x4xf32>
  %5 = graph.transpose %4 perm [2, 3, 4, 0, 5, 1] : tensor<2x2x1x5x4x4xf32> -> tensor<1x5x4x2x4x2xf32>
  %6 = graph.reshape %5 shape <[1, 5, 8, 8]> : tensor<1x5x4x2x4x2xf32> -> tensor<1x5x8x8xf32>
  %y = graph.slice %6 starts <[0, 0, 0, 0]> limits <[1, 5, 7, 7]> steps [1, 1, 1, 1] : tensor<1x5x8x8xf32> -> tensor<1x5x7x7xf32>
  func.return %y : tensor<1x5x7x7xf32>
}

// Channels last, two images, another block along each axis, pads of its own, groups.
// CHECK-LABEL: @nhwc
// CHECK-NEXT: graph.conv %x, %w strides [1, 1] dilations [2, 6] pads [2, 0, 2, 0] groups 2 data_layout "NHWC"
// CHECK-NEXT: func.return
func.func @nhwc(%x: tensor<2x4x18x2xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<2x4x6x4xf32> {
  %0 = graph.reshape %x shape <[2, 2, 2, 6, 3, 2]> : tensor<2x4x18x2xf32> -> tensor<2x2x2x6x3x2xf32>
  %1 = graph.transpose %0 perm [2, 4, 0, 1, 3, 5] : tensor<2x2x2x6x3x2xf32> -> tensor<2x3x2x2x6x2xf32>
  %2 = graph.reshape %1 shape <[12, 2, 6, 2]> : tensor<2x3x2x2x6x2xf32> -> tensor<12x2x6x2xf32>
  %3 = graph.conv %2, %w strides [1, 1] dilations [1, 2] pads [1, 0, 1, 0] groups 2 data_layout "NHWC" : (tensor<12x2x6x2xf32>, tensor<4x1x3x3xf32>) -> tensor<12x2x2x4xf32>
  %4 = graph.reshape %3 shape <[2, 3, 2, 2, 2, 4]> : tensor<12x2x2x4xf32> -> tensor<2x3x2x2x2x4xf32>
  %5 = graph.transpose %4 perm [2, 3, 0, 4, 1, 5] : tensor<2x3x2x2x2x4xf32> -> tensor<2x2x2x2x3x4xf32>
  %y = graph.reshape %5 shape <[2, 4, 6, 4]> : tensor<2x2x2x2x3x4xf32> -> tensor<2x4x6x4xf32>
  func.return %y : tensor<2x4x6x4xf32>
}

// Blocks in another order, and a convolution with strides.
// CHECK-LABEL: @kept
// CHECK-COUNT-4: graph.transpose
func.func @kept(%x: tensor<1x3x8x8xf32>, %w: tensor<5x3x3x3xf32>) -> (tensor<1x5x4x4xf32>, tensor<1x5x2x2xf32>) {
  %0 = graph.reshape %x shape <[1, 3, 4, 2, 4, 2]> : tensor<1x3x8x8xf32> -> tensor<1x3x4x2x4x2xf32>
  %1 = graph.transpose %0 perm [5, 3, 0, 1, 2, 4] : tensor<1x3x4x2x4x2xf32> -> tensor<2x2x1x3x4x4xf32>
  %2 = graph.reshape %1 shape <[4, 3, 4, 4]> : tensor<2x2x1x3x4x4xf32> -> tensor<4x3x4x4xf32>
  %3 = graph.conv %2, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<4x3x4x4xf32>, tensor<5x3x3x3xf32>) -> tensor<4x5x2x2xf32>
  %4 = graph.reshape %3 shape <[2, 2, 1, 5, 2, 2]> : tensor<4x5x2x2xf32> -> tensor<2x2x1x5x2x2xf32>
  %5 = graph.transpose %4 perm [2, 3, 4, 0, 5, 1] : tensor<2x2x1x5x2x2xf32> -> tensor<1x5x2x2x2x2xf32>
  %y = graph.reshape %5 shape <[1, 5, 4, 4]> : tensor<1x5x2x2x2x2xf32> -> tensor<1x5x4x4xf32>
  %6 = graph.transpose %0 perm [3, 5, 0, 1, 2, 4] : tensor<1x3x4x2x4x2xf32> -> tensor<2x2x1x3x4x4xf32>
  %7 = graph.reshape %6 shape <[4, 3, 4, 4]> : tensor<2x2x1x3x4x4xf32> -> tensor<4x3x4x4xf32>
  %8 = graph.conv %7, %w strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<4x3x4x4xf32>, tensor<5x3x3x3xf32>) -> tensor<4x5x1x1xf32>
  %9 = graph.reshape %8 shape <[2, 2, 1, 5, 1, 1]> : tensor<4x5x1x1xf32> -> tensor<2x2x1x5x1x1xf32>
  %10 = graph.transpose %9 perm [2, 3, 4, 0, 5, 1] : tensor<2x2x1x5x1x1xf32> -> tensor<1x5x1x2x1x2xf32>
  %z = graph.reshape %10 shape <[1, 5, 2, 2]> : tensor<1x5x1x2x1x2xf32> -> tensor<1x5x2x2xf32>
  func.return %y, %z : tensor<1x5x4x4xf32>, tensor<1x5x2x2xf32>
}
