// RUN: stepwell-opt %s -p convert-graph-to-linalg --split-input-file --verify-diagnostics

func.func @blocks_differ(%x: tensor<1x2x8x8x16xf32>, %w: tensor<4x4x3x3x8x16xf32>) -> tensor<1x4x6x6x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x2x8x8x16xf32>, %q = %w : tensor<4x4x3x3x8x16xf32>) -> (tensor<1x4x6x6x16xf32>) {
    // expected-error: graph.conv of 1 groups has no loops for layouts NCHW16c, OIHW8i16o and NCHW16c together
    %1 = graph.conv %p, %q strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NCHW16c" kernel_layout "OIHW8i16o" : (tensor<1x2x8x8x16xf32>, tensor<4x4x3x3x8x16xf32>) -> tensor<1x4x6x6x16xf32>
    graph.yield %1 : tensor<1x4x6x6x16xf32>
  }
  func.return %0 : tensor<1x4x6x6x16xf32>
}

// -----

func.func @groups_share_a_block(%x: tensor<1x32x8x8xf32>, %w: tensor<1x16x1x1x16xf32>) -> tensor<1x1x8x8x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x32x8x8xf32>, %q = %w : tensor<1x16x1x1x16xf32>) -> (tensor<1x1x8x8x16xf32>) {
    // expected-error: graph.conv of 2 groups has no loops for layouts NCHW, OIHW16o and NCHW16c together
    %1 = graph.conv %p, %q strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 kernel_layout "OIHW16o" out_layout "NCHW16c" : (tensor<1x32x8x8xf32>, tensor<1x16x1x1x16xf32>) -> tensor<1x1x8x8x16xf32>
    graph.yield %1 : tensor<1x1x8x8x16xf32>
  }
  func.return %0 : tensor<1x1x8x8x16xf32>
}
