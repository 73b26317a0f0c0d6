// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// Layer norm: the mean, then the deviation around it, then one pass over the elements.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%p : tensor<2x4xf32>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[TOTAL]] : tensor<2xf32>)
// CHECK: arith.divf
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} ins(%p, %[[MEAN]] : tensor<2x4xf32>, tensor<2xf32>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: %[[INVERSE:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]] : tensor<2xf32>)
// CHECK: math.sqrt
// CHECK: linalg.generic {{.*}} ins(%p, %[[MEAN]], %[[INVERSE]], %q : tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK-NOT: linalg.generic
func.func @layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = graph.fused (%p = %x : tensor<2x4xf32>, %q = %s : tensor<4xf32>) -> (tensor<2x4xf32>) {
    %0 = graph.layer_norm %p scale %q : tensor<4xf32> axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    graph.yield %0 : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}

// Batch norm: one factor a channel, then one pass over the elements.
// CHECK-LABEL: func.func private @k1
// CHECK: %[[FACTOR:.*]] = linalg.generic {{.*}} ins(%v, %s : tensor<3xf32>, tensor<3xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK: math.sqrt
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1)>,
// CHECK-SAME: ins(%p, %m, %[[FACTOR]] : tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
func.func @batch_norm(%x: tensor<1x3x4xf32>, %a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) -> tensor<1x3x4xf32> {
  %y = graph.fused (%p = %x : tensor<1x3x4xf32>, %m = %a : tensor<3xf32>, %v = %b : tensor<3xf32>, %s = %c : tensor<3xf32>) -> (tensor<1x3x4xf32>) {
    %0 = graph.batch_norm %p mean %m variance %v scale %s eps 1.0e-5 axis 1 : (tensor<1x3x4xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
    graph.yield %0 : tensor<1x3x4xf32>
  }
  func.return %y : tensor<1x3x4xf32>
}

// Groups of channels are split off by a view, and joined again.
// CHECK-LABEL: func.func private @k2
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %p {{.*}} : tensor<2x6x4xf32> into tensor<2x3x2x4xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%[[GROUPS]]
// CHECK: tensor.collapse_shape {{.*}} : tensor<2x3x2x4xf32> into tensor<2x6x4xf32>
func.func @group_norm(%x: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  %y = graph.fused (%p = %x : tensor<2x6x4xf32>) -> (tensor<2x6x4xf32>) {
    %0 = graph.group_norm %p groups 3 eps 1.0e-5 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
    graph.yield %0 : tensor<2x6x4xf32>
  }
  func.return %y : tensor<2x6x4xf32>
}

// LRN: windows of channels over a border of zeros; the power 0.75 is two roots.
// CHECK-LABEL: func.func private @k3
// CHECK: %[[BORDER:.*]] = tensor.insert_slice %p into {{.*}} : tensor<1x5x2xf32> into tensor<1x7x2xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>
// CHECK: math.sqrt
// CHECK: math.sqrt
// CHECK: arith.divf
func.func @lrn(%x: tensor<1x5x2xf32>) -> tensor<1x5x2xf32> {
  %y = graph.fused (%p = %x : tensor<1x5x2xf32>) -> (tensor<1x5x2xf32>) {
    %0 = graph.lrn %p size 3 alpha 1.0e-4 beta 0.75 bias 1.0 : tensor<1x5x2xf32> -> tensor<1x5x2xf32>
    graph.yield %0 : tensor<1x5x2xf32>
  }
  func.return %y : tensor<1x5x2xf32>
}
