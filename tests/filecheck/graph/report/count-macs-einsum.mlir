// RUN: stepwell-opt %s -p count-macs 2>&1 | filecheck %s

// The size of a letter is that of an operand which does not broadcast along it; three factors are two products.
// CHECK: 60 graph.einsum at
// CHECK-NEXT: 120 graph.einsum at
// CHECK-NEXT: 180 multiply-adds
func.func @main(%a: tensor<1x4xf32>, %b: tensor<3x4xf32>, %c: tensor<3x5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = graph.einsum "ij,ik->k" %a, %c : (tensor<1x4xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  %1 = graph.einsum "ij,ij,ik->k" %a, %b, %c : (tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  func.return %0, %1 : tensor<5xf32>, tensor<5xf32>
}
