// RUN: stepwell-opt %s -p generalize-named-ops --split-input-file --verify-diagnostics

func.func @types(%x: tensor<2xf32>, %y: tensor<3xf32>, %o: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error: linalg
  %z = linalg.add ins(%x, %y : tensor<2xf32>, tensor<3xf32>) outs(%o : tensor<3xf32>) -> tensor<3xf32>
  func.return %o : tensor<2xf32>
}
// -----
func.func @segments(%x: tensor<2x3xf32>, %o: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error: operandSegmentSizes
  %z = "linalg.matvec"(%x, %o) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%p: f32, %q: f32, %r: f32):
    linalg.yield %p : f32
  }) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %o : tensor<2xf32>
}
