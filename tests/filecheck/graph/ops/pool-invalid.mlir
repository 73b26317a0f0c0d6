// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_kind(%x: tensor<1x8x9x9xf32>) {
  // expected-error: kind must be one of max, avg, lp, found "sum"
  %0 = graph.pool %x kind "sum" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x8x9x9xf32> -> tensor<1x8x4x4xf32>
  func.return
}
// -----
func.func @c1_indices(%x: tensor<1x8x9x9xf32>) {
  // expected-error: indices must be none, or for max row or column, found "row"
  %0, %1 = graph.pool %x kind "avg" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] indices "row" : tensor<1x8x9x9xf32> -> tensor<1x8x4x4xf32>, tensor<1x8x4x4xi64>
  func.return
}
// -----
func.func @c1_p(%x: tensor<1x8x9x9xf32>) {
  // expected-error: p must be at least 1, found 0
  %0 = graph.pool %x kind "lp" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] p 0 : tensor<1x8x9x9xf32> -> tensor<1x8x4x4xf32>
  func.return
}
// -----
func.func @c2_layout(%x: tensor<1x8x9xf32>) {
  // expected-error: layout "NCHW" has 4 dimensions, the tensor 3
  %0 = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x8x9xf32> -> tensor<1x8x4xf32>
  func.return
}
// -----
func.func @c3_kernel(%x: tensor<1x8x9x9xf32>) {
  // expected-error: kernel must have 2 numbers, found 1
  %0 = graph.pool %x kind "max" kernel [3] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x8x9x9xf32> -> tensor<1x8x4x4xf32>
  func.return
}
// -----
func.func @c3_pads(%x: tensor<1x8x9x9xf32>) {
  // expected-error: pads must be 4 numbers, all begins then all ends, found [0, 0]
  %0 = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0] : tensor<1x8x9x9xf32> -> tensor<1x8x4x4xf32>
  func.return
}
// -----
func.func @c4_no_window(%x: tensor<1x8x2x9xf32>) {
  // expected-error: kernel spans 3 cells, the padded input has 2
  %0 = graph.pool %x kind "max" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x8x2x9xf32> -> tensor<1x8x0x7xf32>
  func.return
}
// -----
func.func @c5_result(%x: tensor<1x8x10x10xf32>) {
  // expected-error: result type must be tensor<1x8x5x5xf32>, found tensor<1x8x4x4xf32>
  %0 = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] ceil true : tensor<1x8x10x10xf32> -> tensor<1x8x4x4xf32>
  func.return
}
