// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// Windows inside the input read it where it lies.
// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[X:.*]]: tensor<1x4x17x17xf32>
// CHECK: %[[INSIDE:.*]] = tensor.extract_slice %[[X]][0, 0, 1, 1] [1, 4, 15, 15] [1, 1, 1, 1]
// CHECK: arith.constant 0xff800000 : f32
// CHECK: %[[KERNEL:.*]] = tensor.empty() : tensor<3x3xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, ((d2 * 2) + d4), ((d3 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>]
// CHECK-SAME: ins(%[[INSIDE]], %[[KERNEL]] :
// CHECK: ^{{.*}}(%[[IN:.*]]: f32, %{{.*}}: f32, %[[BEST:.*]]: f32):
// CHECK: %[[GREATER:.*]] = arith.cmpf ogt, %[[IN]], %[[BEST]] : f32
// CHECK: arith.select %[[GREATER]], %[[IN]], %[[BEST]] : f32
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1, 1] [1, 4, 7, 7] [1, 1, 1, 1]
// Those of the first row see two of their three rows, and a border of -inf at both ends, which is never chosen.
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [1, 4, 2, 17] [1, 1, 1, 1]
// CHECK: tensor.insert_slice %[[ROW]] into %{{.*}}[0, 0, 0, 1] [1, 4, 2, 17] [1, 1, 1, 1]
// CHECK: tensor.empty() : tensor<2x3xf32>
func.func @max(%x: tensor<1x4x17x17xf32>) -> tensor<1x4x9x9xf32> {
  %0 = graph.fused (%p = %x : tensor<1x4x17x17xf32>) -> (tensor<1x4x9x9xf32>) {
    %1 = graph.pool %p kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x4x17x17xf32> -> tensor<1x4x9x9xf32>
    graph.yield %1 : tensor<1x4x9x9xf32>
  }
  func.return %0 : tensor<1x4x9x9xf32>
}

// Every window is full: the divisor is a constant.
// CHECK-LABEL: func.func private @k1
// CHECK: arith.addf
// CHECK: arith.constant 4.000000e+00 : f32
// CHECK: arith.divf
func.func @mean(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %0 = graph.fused (%p = %x : tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>) {
    %1 = graph.pool %p kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x4x8x8xf32> -> tensor<1x4x4x4xf32>
    graph.yield %1 : tensor<1x4x4x4xf32>
  }
  func.return %0 : tensor<1x4x4x4xf32>
}

// Cells are counted for each window, once for all channels; the windows inside the input have all of them.
// CHECK-LABEL: func.func private @k2
// CHECK: %[[COUNT:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<9x9xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x4x7x7xf32>) outs(%{{.*}} : tensor<1x4x7x7xf32>)
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[COUNT]][0, 0] [1, 9] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[ROW]] : tensor<1x4x1x9xf32>, tensor<1x9xf32>)
func.func @mean_of_cells_inside(%x: tensor<1x4x9x9xf32>) -> tensor<1x4x9x9xf32> {
  %0 = graph.fused (%p = %x : tensor<1x4x9x9xf32>) -> (tensor<1x4x9x9xf32>) {
    %1 = graph.pool %p kind "avg" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x4x9x9xf32> -> tensor<1x4x9x9xf32>
    graph.yield %1 : tensor<1x4x9x9xf32>
  }
  func.return %0 : tensor<1x4x9x9xf32>
}

// Of many channels, whose rows are read as vectors.
// CHECK-LABEL: func.func private @k3
// CHECK: linalg_ext.pool %p into %{{.*}} kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] :
func.func @max_of_rows(%x: tensor<1x8x4x5xf32>) -> tensor<1x8x4x5xf32> {
  %0 = graph.fused (%p = %x : tensor<1x8x4x5xf32>) -> (tensor<1x8x4x5xf32>) {
    %1 = graph.pool %p kind "max" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x8x4x5xf32> -> tensor<1x8x4x5xf32>
    graph.yield %1 : tensor<1x8x4x5xf32>
  }
  func.return %0 : tensor<1x8x4x5xf32>
}

// CHECK-LABEL: func.func private @k4
// CHECK: linalg_ext.pool %p into %{{.*}} kind "avg" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] :
func.func @mean_of_rows(%x: tensor<2x4x40x8xf32>) -> tensor<2x4x20x4xf32> {
  %0 = graph.fused (%p = %x : tensor<2x4x40x8xf32>) -> (tensor<2x4x20x4xf32>) {
    %1 = graph.pool %p kind "avg" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : tensor<2x4x40x8xf32> -> tensor<2x4x20x4xf32>
    graph.yield %1 : tensor<2x4x20x4xf32>
  }
  func.return %0 : tensor<2x4x20x4xf32>
}
