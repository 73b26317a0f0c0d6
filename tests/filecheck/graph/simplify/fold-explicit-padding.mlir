// RUN: stepwell-opt %s -p fold-explicit-padding,dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p FoldExplicitPadding,fold-explicit-padding,dead-code-elimination | filecheck %s

// On top of the pads that are there, in any layout.
// CHECK-LABEL: @conv
// CHECK-NEXT: graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [1, 3, 2, 1]
// CHECK-NEXT: func.return
func.func @conv(%x: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x5x5x4xf32> {
  %p = graph.pad %x pads <[0, 1, 2, 0, 0, 1, 0, 0]> mode "constant" : tensor<1x8x8x3xf32> -> tensor<1x10x10x3xf32>
  %y = graph.conv %p, %w strides [2, 2] dilations [1, 1] pads [0, 1, 1, 1] data_layout "NHWC" : (tensor<1x10x10x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x5x5x4xf32>
  func.return %y : tensor<1x5x5x4xf32>
}

// CHECK-LABEL: @pools
// CHECK-NEXT: graph.pool %x kind "max" kernel [3] strides [1] dilations [1] pads [1, 2]
// CHECK-NEXT: graph.pool %x kind "avg" kernel [3] strides [1] dilations [1] pads [1, 2] count_include_pad true
// CHECK-NEXT: func.return
func.func @pools(%x: tensor<1x2x8xf32>) -> (tensor<1x2x9xf32>, tensor<1x2x9xf32>) {
  %low = graph.constant dense<0xFF800000> : tensor<f32>
  %p = graph.pad %x with %low : tensor<f32> pads <[0, 0, 1, 0, 0, 2]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x2x11xf32>
  %y = graph.pool %p kind "max" kernel [3] strides [1] dilations [1] pads [0, 0] data_layout "NCW" : tensor<1x2x11xf32> -> tensor<1x2x9xf32>
  %q = graph.pad %x pads <[0, 0, 1, 0, 0, 2]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x2x11xf32>
  %z = graph.pool %q kind "avg" kernel [3] strides [1] dilations [1] pads [0, 0] data_layout "NCW" : tensor<1x2x11xf32> -> tensor<1x2x9xf32>
  func.return %y, %z : tensor<1x2x9xf32>, tensor<1x2x9xf32>
}

// Ones for a convolution, zeros for a maximum, a mean with pads that do not count, a crop, channels, a mirror,
// windows of nothing but border.
// CHECK-LABEL: @kept
// CHECK-COUNT-6: graph.pad
// CHECK-NOT: pads [1, 1]
func.func @kept(%x: tensor<1x2x8xf32>, %w: tensor<1x2x3xf32>, %v: tensor<1x3x3xf32>) -> (tensor<1x1x8xf32>, tensor<1x2x8xf32>, tensor<1x2x10xf32>, tensor<1x1x4xf32>, tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x2x12xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %low = graph.constant dense<0xFF800000> : tensor<f32>
  %p0 = graph.pad %x with %one : tensor<f32> pads <[0, 0, 1, 0, 0, 1]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x2x10xf32>
  %y0 = graph.conv %p0, %w strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x2x10xf32>, tensor<1x2x3xf32>) -> tensor<1x1x8xf32>
  %p1 = graph.pad %x pads <[0, 0, 1, 0, 0, 1]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x2x10xf32>
  %y1 = graph.pool %p1 kind "max" kernel [3] strides [1] dilations [1] pads [0, 0] data_layout "NCW" : tensor<1x2x10xf32> -> tensor<1x2x8xf32>
  %y2 = graph.pool %p1 kind "avg" kernel [3] strides [1] dilations [1] pads [1, 1] data_layout "NCW" : tensor<1x2x10xf32> -> tensor<1x2x10xf32>
  %p3 = graph.pad %x pads <[0, 0, -1, 0, 0, -1]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x2x6xf32>
  %y3 = graph.conv %p3, %w strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x2x6xf32>, tensor<1x2x3xf32>) -> tensor<1x1x4xf32>
  %p4 = graph.pad %x pads <[0, 1, 0, 0, 0, 0]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x3x8xf32>
  %y4 = graph.conv %p4, %v strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x3x8xf32>, tensor<1x3x3xf32>) -> tensor<1x1x6xf32>
  %p5 = graph.pad %x pads <[0, 0, 1, 0, 0, 1]> mode "reflect" : tensor<1x2x8xf32> -> tensor<1x2x10xf32>
  %y5 = graph.conv %p5, %w strides [1] dilations [1] pads [0, 0] data_layout "NCW" kernel_layout "OIW" : (tensor<1x2x10xf32>, tensor<1x2x3xf32>) -> tensor<1x1x8xf32>
  %p6 = graph.pad %x with %low : tensor<f32> pads <[0, 0, 3, 0, 0, 3]> mode "constant" : tensor<1x2x8xf32> -> tensor<1x2x14xf32>
  %y6 = graph.pool %p6 kind "max" kernel [3] strides [1] dilations [1] pads [0, 0] data_layout "NCW" : tensor<1x2x14xf32> -> tensor<1x2x12xf32>
  func.return %y0, %y1, %y2, %y3, %y4, %y5, %y6 : tensor<1x1x8xf32>, tensor<1x2x8xf32>, tensor<1x2x10xf32>, tensor<1x1x4xf32>, tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x2x12xf32>
}
