// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// Loops of a blocked convolution: n, channel block, y, x, channel; then the sum over channel block, kernel, channel.
// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[X:.*]]: tensor<1x2x8x8x16xf32>, %[[W:.*]]: tensor<4x2x3x3x16x16xf32>
// CHECK: %[[BORDER:.*]] = linalg.fill {{.*}} -> tensor<1x2x10x10x16xf32>
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %[[X]] into %[[BORDER]][0, 0, 1, 1, 0] [1, 2, 8, 8, 16] [1, 1, 1, 1, 1]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d5, ((d2 * 2) + d6), ((d3 * 2) + d7), d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d1, d5, d6, d7, d8, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%[[PADDED]], %[[W]]
func.func @blocked(%x: tensor<1x2x8x8x16xf32>, %w: tensor<4x2x3x3x16x16xf32>) -> tensor<1x4x4x4x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x2x8x8x16xf32>, %q = %w : tensor<4x2x3x3x16x16xf32>) -> (tensor<1x4x4x4x16xf32>) {
    %1 = graph.conv %p, %q strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] data_layout "NCHW16c" kernel_layout "OIHW16i16o" : (tensor<1x2x8x8x16xf32>, tensor<4x2x3x3x16x16xf32>) -> tensor<1x4x4x4x16xf32>
    graph.yield %1 : tensor<1x4x4x4x16xf32>
  }
  func.return %0 : tensor<1x4x4x4x16xf32>
}

// One filter a channel: no loop over channels; without pads the input is read where it is.
// CHECK-LABEL: func.func private @k1
// CHECK-SAME: %[[X:.*]]: tensor<1x2x8x8x16xf32>
// CHECK-NOT: tensor.insert_slice
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, (d2 + d5), (d3 + d6), d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, 0, d5, d6, d4)>
// CHECK-SAME: ins(%[[X]],
func.func @depthwise(%x: tensor<1x2x8x8x16xf32>, %w: tensor<2x1x3x3x16xf32>) -> tensor<1x2x6x6x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x2x8x8x16xf32>, %q = %w : tensor<2x1x3x3x16xf32>) -> (tensor<1x2x6x6x16xf32>) {
    %1 = graph.conv %p, %q strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 32 data_layout "NCHW16c" kernel_layout "OIHW16o" : (tensor<1x2x8x8x16xf32>, tensor<2x1x3x3x16xf32>) -> tensor<1x2x6x6x16xf32>
    graph.yield %1 : tensor<1x2x6x6x16xf32>
  }
  func.return %0 : tensor<1x2x6x6x16xf32>
}

// Groups are a loop of their own; the height is known when the model runs.
// CHECK-LABEL: func.func private @k2
// CHECK-SAME: %[[H:.*]]: index
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, ((d1 * 2) + d5), (d3 + d6), (d4 + d7))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (((d1 * 3) + d2), d5, d6, d7)>
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x2x3x?x6xf32> into tensor<1x6x?x6xf32>
func.func @groups(%x: tensor<1x4x?x8xf32, #graph.dims<[1, 4, "H", 8]>>, %w: tensor<6x2x3x3xf32>) -> tensor<1x6x?x6xf32, #graph.dims<[1, 6, "H - 2", 6]>> {
  %0 = graph.fused (%p = %x : tensor<1x4x?x8xf32, #graph.dims<[1, 4, "H", 8]>>, %q = %w : tensor<6x2x3x3xf32>) -> (tensor<1x6x?x6xf32, #graph.dims<[1, 6, "H - 2", 6]>>) {
    %1 = graph.conv %p, %q strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 : (tensor<1x4x?x8xf32, #graph.dims<[1, 4, "H", 8]>>, tensor<6x2x3x3xf32>) -> tensor<1x6x?x6xf32, #graph.dims<[1, 6, "H - 2", 6]>>
    graph.yield %1 : tensor<1x6x?x6xf32, #graph.dims<[1, 6, "H - 2", 6]>>
  }
  func.return %0 : tensor<1x6x?x6xf32, #graph.dims<[1, 6, "H - 2", 6]>>
}

// Transposed: the input's cells stand two apart, between zeros; the kernel is turned.
// CHECK-LABEL: func.func private @k3
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1] [1, 4, 5] [1, 1, 2] : tensor<1x4x5xf32> into tensor<1x4x11xf32>
// CHECK: %[[TURNED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x6x3xf32>)
// CHECK: tensor.extract
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d4)>, {{.*}} ins(%{{.*}}, %[[TURNED]] :
func.func @transposed(%x: tensor<1x4x5xf32>, %w: tensor<4x6x3xf32>) -> tensor<1x6x9xf32> {
  %0 = graph.fused (%p = %x : tensor<1x4x5xf32>, %q = %w : tensor<4x6x3xf32>) -> (tensor<1x6x9xf32>) {
    %1 = graph.conv_transpose %p, %q strides [2] dilations [1] pads [1, 1] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<1x4x5xf32>, tensor<4x6x3xf32>) -> tensor<1x6x9xf32>
    graph.yield %1 : tensor<1x6x9xf32>
  }
  func.return %0 : tensor<1x6x9xf32>
}

// Groups that fill blocks: results are [n, group, block of the group, …], and a group's blocks of channels follow
// those of the group before.
// CHECK-LABEL: func.func private @k4
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (d0, ((d1 * 2) + d6), (d3 + d7), (d4 + d8), d9)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (((d1 * 3) + d2), d6, d7, d8, d9, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (d0, d1, d2, d3, d4, d5)>]
// CHECK-SAME: outs(%{{.*}} : tensor<1x2x3x8x8x16xf32>)
func.func @grouped_blocks(%x: tensor<1x4x8x8x16xf32>, %w: tensor<6x2x1x1x16x16xf32>) -> tensor<1x6x8x8x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x4x8x8x16xf32>, %q = %w : tensor<6x2x1x1x16x16xf32>) -> (tensor<1x6x8x8x16xf32>) {
    %1 = graph.conv %p, %q strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 data_layout "NCHW16c" kernel_layout "OIHW16i16o" : (tensor<1x4x8x8x16xf32>, tensor<6x2x1x1x16x16xf32>) -> tensor<1x6x8x8x16xf32>
    graph.yield %1 : tensor<1x6x8x8x16xf32>
  }
  func.return %0 : tensor<1x6x8x8x16xf32>
}
