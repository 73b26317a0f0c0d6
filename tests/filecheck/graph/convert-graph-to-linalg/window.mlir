// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// CHECK-LABEL: func.func private @k0
// CHECK-SAME: %[[X:.*]]: tensor<1x8x9x9xf32>
// A border of -inf is never chosen.
// CHECK: arith.constant 0xff800000 : f32
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %[[X]] into %{{.*}}[0, 0, 1, 1] [1, 8, 9, 9] [1, 1, 1, 1]
// CHECK: %[[KERNEL:.*]] = tensor.empty() : tensor<3x3xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, ((d2 * 2) + d4), ((d3 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>]
// CHECK-SAME: ins(%[[PADDED]], %[[KERNEL]] :
// CHECK: ^{{.*}}(%[[IN:.*]]: f32, %{{.*}}: f32, %[[BEST:.*]]: f32):
// CHECK: %[[GREATER:.*]] = arith.cmpf ogt, %[[IN]], %[[BEST]] : f32
// CHECK: arith.select %[[GREATER]], %[[IN]], %[[BEST]] : f32
func.func @max(%x: tensor<1x8x9x9xf32>) -> tensor<1x8x5x5xf32> {
  %0 = graph.fused (%p = %x : tensor<1x8x9x9xf32>) -> (tensor<1x8x5x5xf32>) {
    %1 = graph.pool %p kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x8x9x9xf32> -> tensor<1x8x5x5xf32>
    graph.yield %1 : tensor<1x8x5x5xf32>
  }
  func.return %0 : tensor<1x8x5x5xf32>
}

// Every window is full: the divisor is a constant.
// CHECK-LABEL: func.func private @k1
// CHECK: arith.addf
// CHECK: arith.constant 4.000000e+00 : f32
// CHECK: arith.divf
func.func @mean(%x: tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32> {
  %0 = graph.fused (%p = %x : tensor<1x8x8x8xf32>) -> (tensor<1x8x4x4xf32>) {
    %1 = graph.pool %p kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : tensor<1x8x8x8xf32> -> tensor<1x8x4x4xf32>
    graph.yield %1 : tensor<1x8x4x4xf32>
  }
  func.return %0 : tensor<1x8x4x4xf32>
}

// Cells are counted for each window, once for all channels.
// CHECK-LABEL: func.func private @k2
// CHECK: %[[COUNT:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<9x9xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[COUNT]] : tensor<1x8x9x9xf32>, tensor<9x9xf32>)
func.func @mean_of_cells_inside(%x: tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32> {
  %0 = graph.fused (%p = %x : tensor<1x8x9x9xf32>) -> (tensor<1x8x9x9xf32>) {
    %1 = graph.pool %p kind "avg" kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : tensor<1x8x9x9xf32> -> tensor<1x8x9x9xf32>
    graph.yield %1 : tensor<1x8x9x9xf32>
  }
  func.return %0 : tensor<1x8x9x9xf32>
}
