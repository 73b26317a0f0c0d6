// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// CHECK-LABEL: func.func private @k0
// CHECK: %[[SPLIT:.*]] = tensor.expand_shape %{{.*}} : tensor<1x32x7x7xf32> into tensor<1x2x16x7x7xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>]
// CHECK-SAME: ins(%[[SPLIT]]
func.func @block(%x: tensor<1x32x7x7xf32>) -> tensor<1x2x7x7x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x32x7x7xf32>) -> (tensor<1x2x7x7x16xf32>) {
    %1 = graph.layout_transform %p from "NCHW" to "NCHW16c" : tensor<1x32x7x7xf32> -> tensor<1x2x7x7x16xf32>
    graph.yield %1 : tensor<1x2x7x7x16xf32>
  }
  func.return %0 : tensor<1x2x7x7x16xf32>
}

// 20 channels fill two blocks, with zeros behind them.
// CHECK-LABEL: func.func private @k1
// CHECK: tensor.insert_slice {{.*}} : tensor<1x20x7x7xf32> into tensor<1x32x7x7xf32>
// CHECK: tensor.expand_shape
func.func @fill(%x: tensor<1x20x7x7xf32>) -> tensor<1x2x7x7x16xf32> {
  %0 = graph.fused (%p = %x : tensor<1x20x7x7xf32>) -> (tensor<1x2x7x7x16xf32>) {
    %1 = graph.layout_transform %p from "NCHW" to "NCHW16c" : tensor<1x20x7x7xf32> -> tensor<1x2x7x7x16xf32>
    graph.yield %1 : tensor<1x2x7x7x16xf32>
  }
  func.return %0 : tensor<1x2x7x7x16xf32>
}

// CHECK-LABEL: func.func private @k2
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x16x7x7xf32>)
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x2x16x7x7xf32> into tensor<1x32x7x7xf32>
func.func @unblock(%x: tensor<1x2x7x7x16xf32>) -> tensor<1x32x7x7xf32> {
  %0 = graph.fused (%p = %x : tensor<1x2x7x7x16xf32>) -> (tensor<1x32x7x7xf32>) {
    %1 = graph.layout_transform %p from "NCHW16c" to "NCHW" : tensor<1x2x7x7x16xf32> -> tensor<1x32x7x7xf32>
    graph.yield %1 : tensor<1x32x7x7xf32>
  }
  func.return %0 : tensor<1x32x7x7xf32>
}
