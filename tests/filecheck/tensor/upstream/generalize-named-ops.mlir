// RUN: stepwell-opt %s -p generalize-named-ops | filecheck %s

// CHECK-LABEL: @named
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NOT: linalg.add
// CHECK-NOT: linalg.transpose
func.func @named(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %o: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %t = linalg.transpose ins(%x : tensor<2x3xf32>) outs(%o : tensor<3x2xf32>) permutation = [1, 0]
  %z = linalg.add ins(%t, %y : tensor<3x2xf32>, tensor<3x2xf32>) outs(%o : tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %z : tensor<3x2xf32>
}
