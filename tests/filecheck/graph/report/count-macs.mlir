// RUN: stepwell-opt %s -p count-macs 2>&1 | filecheck %s

// The size of a letter is that of an operand which does not broadcast along it; three factors are two products.
// CHECK: 60 graph.einsum at
// CHECK-NEXT: 120 graph.einsum at
// Of bytes there is one product, of numbers packed in 32 bits as many as they have parts.
// CHECK-NEXT: 1728 graph.conv_integer at
// CHECK-NEXT: 1908 multiply-adds
func.func @main(%a: tensor<1x4xf32>, %b: tensor<3x4xf32>, %c: tensor<3x5xf32>, %x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>) -> (tensor<5xf32>, tensor<5xf32>, tensor<1x4x4x4xi32>) {
  %0 = graph.einsum "ij,ik->k" %a, %c : (tensor<1x4xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  %1 = graph.einsum "ij,ij,ik->k" %a, %b, %c : (tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  %2 = graph.conv_integer %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>) -> tensor<1x4x4x4xi32>
  func.return %0, %1, %2 : tensor<5xf32>, tensor<5xf32>, tensor<1x4x4x4xi32>
}
