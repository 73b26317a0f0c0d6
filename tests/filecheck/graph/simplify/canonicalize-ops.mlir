// RUN: stepwell-opt %s -p canonicalize-ops | filecheck %s
// RUN: stepwell-opt %s -p CanonicalizeOps,canonicalize-ops | filecheck %s

// CHECK-LABEL: @bias
// CHECK-NEXT: %[[C:.*]] = graph.expand_dims %b axes [1, 2] : tensor<3xf32> -> tensor<3x1x1xf32>
// CHECK-NEXT: graph.add %x, %[[C]]
func.func @bias(%x: tensor<1x3x4x5xf32>, %b: tensor<3xf32>) -> tensor<1x3x4x5xf32> {
  %y = graph.bias_add %x, %b axis 1 : (tensor<1x3x4x5xf32>, tensor<3xf32>) -> tensor<1x3x4x5xf32>
  func.return %y : tensor<1x3x4x5xf32>
}

// CHECK-LABEL: @last_axis
// CHECK-NEXT: graph.add %x, %b
func.func @last_axis(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = graph.bias_add %x, %b axis 1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: @blocked
// CHECK-NEXT: %[[C:.*]] = graph.expand_dims %b axes [1, 2] : tensor<2x4xf32> -> tensor<2x1x1x4xf32>
// CHECK-NEXT: graph.add %x, %[[C]]
func.func @blocked(%x: tensor<1x2x5x6x4xf32>, %b: tensor<2x4xf32>) -> tensor<1x2x5x6x4xf32> {
  %y = graph.bias_add %x, %b axis 1 : (tensor<1x2x5x6x4xf32>, tensor<2x4xf32>) -> tensor<1x2x5x6x4xf32>
  func.return %y : tensor<1x2x5x6x4xf32>
}
