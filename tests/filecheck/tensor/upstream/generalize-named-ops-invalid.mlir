// RUN: stepwell-opt %s -p generalize-named-ops --verify-diagnostics

func.func @types(%x: tensor<2xf32>, %y: tensor<3xf32>, %o: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error: linalg
  %z = linalg.add ins(%x, %y : tensor<2xf32>, tensor<3xf32>) outs(%o : tensor<3xf32>) -> tensor<3xf32>
  func.return %o : tensor<2xf32>
}
