// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @conv
func.func @conv(%x: tensor<?x64x?x56xf32, #graph.dims<["N", 64, "H", 56]>>, %w: tensor<128x32x3x3xf32>) {
  // The symbols of the input come out in the result.
  // CHECK: graph.conv %x, %w strides [2, 1] dilations [1, 2] pads [1, 2, 1, 2] groups 2 : ({{.*}}) -> tensor<?x128x?x56xf32, #graph.dims<["N", 128, "((H - 1) floordiv 2) + 1", 56]>>
  %0 = graph.conv %x, %w strides [2, 1] dilations [1, 2] pads [1, 2, 1, 2] groups 2 : (tensor<?x64x?x56xf32, #graph.dims<["N", 64, "H", 56]>>, tensor<128x32x3x3xf32>) -> tensor<?x128x?x56xf32, #graph.dims<["N", 128, "((H - 1) floordiv 2) + 1", 56]>>
  func.return
}

// CHECK-LABEL: @blocked
func.func @blocked(%x: tensor<1x3x8x8xf32>, %w: tensor<2x3x3x3x16xf32>) {
  // CHECK: graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] kernel_layout "OIHW16o" out_layout "NCHW16c" :
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] kernel_layout "OIHW16o" out_layout "NCHW16c" : (tensor<1x3x8x8xf32>, tensor<2x3x3x3x16xf32>) -> tensor<1x2x8x8x16xf32>
  func.return
}

// CHECK-LABEL: @transposed
func.func @transposed(%x: tensor<1x8x7xf32>, %w: tensor<8x6x3xf32>) {
  // CHECK: graph.conv_transpose %x, %w strides [2] dilations [1] pads [1, 1] output_padding [1] groups 2 data_layout "NCW" kernel_layout "IOW" : (tensor<1x8x7xf32>, tensor<8x6x3xf32>) -> tensor<1x12x14xf32>
  %0 = graph.conv_transpose %x, %w strides [2] dilations [1] pads [1, 1] output_padding [1] groups 2 data_layout "NCW" kernel_layout "IOW" : (tensor<1x8x7xf32>, tensor<8x6x3xf32>) -> tensor<1x12x14xf32>
  func.return
}

// CHECK-LABEL: @transform
func.func @transform(%x: tensor<1x60x7x7xf32>) {
  // 60 channels fill four blocks of 16.
  // CHECK: graph.layout_transform %x from "NCHW" to "NCHW16c" : tensor<1x60x7x7xf32> -> tensor<1x4x7x7x16xf32>
  %0 = graph.layout_transform %x from "NCHW" to "NCHW16c" : tensor<1x60x7x7xf32> -> tensor<1x4x7x7x16xf32>
  func.return
}
