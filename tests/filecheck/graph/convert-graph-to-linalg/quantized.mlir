// RUN: stepwell-opt %s -p 'convert-graph-to-linalg' --split-input-file | filecheck %s

// Blocks that divide an axis are a loop of their own: no index divides, and vectors lie along the elements.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0 : i64], [1 : i64, 2 : i64]] output_shape [4, 2, 32]
// CHECK: affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-SAME: ins(%[[X]], %{{.*}} : tensor<4x2x32xi8>, tensor<4x2xf32>)
// CHECK: tensor.collapse_shape %{{.*}} : tensor<4x2x32xf32> into tensor<4x64xf32>
func.func @blocks(%x: tensor<4x64xi8>, %s: tensor<4x2xf32>) -> tensor<4x64xf32> {
  %y = graph.fused (%a = %x : tensor<4x64xi8>, %b = %s : tensor<4x2xf32>) -> (tensor<4x64xf32>) {
    %d = graph.dequantize %a, %b axis 1 block 32 to f32 : (tensor<4x64xi8>, tensor<4x2xf32>) -> tensor<4x64xf32>
    graph.yield %d : tensor<4x64xf32>
  }
  func.return %y : tensor<4x64xf32>
}

// -----

// A last block that is shorter needs the division.
// CHECK-LABEL: func.func private @k0
// CHECK: affine_map<(d0, d1) -> ((d0 floordiv 32), d1)>
func.func @short(%x: tensor<40x4xi8>, %s: tensor<2x4xf32>) -> tensor<40x4xf32> {
  %y = graph.fused (%a = %x : tensor<40x4xi8>, %b = %s : tensor<2x4xf32>) -> (tensor<40x4xf32>) {
    %d = graph.dequantize %a, %b axis 0 block 32 to f32 : (tensor<40x4xi8>, tensor<2x4xf32>) -> tensor<40x4xf32>
    graph.yield %d : tensor<40x4xf32>
  }
  func.return %y : tensor<40x4xf32>
}
