// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_rank(%x: tensor<1x64x56xf32>, %w: tensor<128x64x3x3xf32>) {
  // expected-error: layout "NCHW" has 4 dimensions, the tensor 3
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x64x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x54x54xf32>
  func.return
}
// -----
func.func @c1_no_layout(%x: tensor<1x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) {
  // expected-error: "NCHW0c" is no layout (such as "NCHW", "NHWC" or "NCHW16c")
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW0c" : (tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x54x54xf32>
  func.return
}
// -----
func.func @c1_spatial(%x: tensor<1x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) {
  // expected-error: layouts must name the same spatial axes: NCHW, OIWH, NCHW
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] kernel_layout "OIWH" : (tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x54x54xf32>
  func.return
}
// -----
func.func @c2_strides(%x: tensor<1x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) {
  // expected-error: strides must be 2 positive numbers, found [0, 1]
  %0 = graph.conv %x, %w strides [0, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x54x54xf32>
  func.return
}
// -----
func.func @c2_pads(%x: tensor<1x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) {
  // expected-error: pads must not be negative, found [-1, 0, 0, 0]
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [-1, 0, 0, 0] : (tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x53x54xf32>
  func.return
}
// -----
func.func @c3_channels(%x: tensor<1x64x56x56xf32>, %w: tensor<128x64x3x3xf32>) {
  // expected-error: weight expects 64 input channels in each of 2 groups, input has 64
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x54x54xf32>
  func.return
}
// -----
func.func @c4_no_window(%x: tensor<1x8x2x9xf32>, %w: tensor<4x8x5x3xf32>) {
  // expected-error: kernel spans 5 cells, the padded input has 4
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 0, 1, 0] : (tensor<1x8x2x9xf32>, tensor<4x8x5x3xf32>) -> tensor<1x4x0x7xf32>
  func.return
}
// -----
func.func @c5_result(%x: tensor<1x8x9x9xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error: result type must be tensor<1x4x7x7xf32>, found tensor<1x4x9x9xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x8x9x9xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x9x9xf32>
  func.return
}
// -----
func.func @transpose_c2_output_padding(%x: tensor<1x8x7xf32>, %w: tensor<8x6x3xf32>) {
  // expected-error: output_padding must be 1 numbers >= 0, found [-1]
  %0 = graph.conv_transpose %x, %w strides [1] dilations [1] pads [0, 0] output_padding [-1] data_layout "NCW" kernel_layout "IOW" : (tensor<1x8x7xf32>, tensor<8x6x3xf32>) -> tensor<1x6x8xf32>
  func.return
}
// -----
func.func @transpose_c3_channels(%x: tensor<1x8x7xf32>, %w: tensor<6x8x3xf32>) {
  // expected-error: weight expects 6 input channels, input has 8
  %0 = graph.conv_transpose %x, %w strides [1] dilations [1] pads [0, 0] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<1x8x7xf32>, tensor<6x8x3xf32>) -> tensor<1x8x9xf32>
  func.return
}
// -----
func.func @transpose_c4_pads(%x: tensor<1x8x2xf32>, %w: tensor<8x6x1xf32>) {
  // expected-error: pads cut away more than the whole result
  %0 = graph.conv_transpose %x, %w strides [1] dilations [1] pads [2, 1] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<1x8x2xf32>, tensor<8x6x1xf32>) -> tensor<1x6x0xf32>
  func.return
}
// -----
func.func @transform_c1_axes(%x: tensor<1x64x7x7xf32>) {
  // expected-error: layouts must have the same axes, found "NCHW" and "NCDH"
  %0 = graph.layout_transform %x from "NCHW" to "NCDH" : tensor<1x64x7x7xf32> -> tensor<1x64x7x7xf32>
  func.return
}
// -----
func.func @transform_c2_result(%x: tensor<1x64x7x7xf32>) {
  // expected-error: result type must be tensor<1x7x7x64xf32>, found tensor<1x64x7x7xf32>
  %0 = graph.layout_transform %x from "NCHW" to "NHWC" : tensor<1x64x7x7xf32> -> tensor<1x64x7x7xf32>
  func.return
}
