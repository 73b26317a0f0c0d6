// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @unknown_argument(%x: tensor<4xf32>) {
  // expected-error: relu has no argument `alpha`
  %y = "paddle.relu"(%x) {alpha = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @missing(%x: tensor<4x4xf32>) {
  // expected-error: transpose needs the argument `perm`
  %y = "paddle.transpose"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}
// -----
func.func @kind(%x: tensor<4x4xf32>) {
  // expected-error: `axis` must be int, found 1.000000e+00
  %y = "paddle.softmax"(%x) {axis = 1.0 : f64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}
// -----
func.func @arguments(%c: tensor<i1>) {
  // expected-error: both regions must take 1 values
  %y = "paddle.while"(%c) ({
    "paddle.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i1>):
    "paddle.return"(%a) : (tensor<i1>) -> ()
  }) : (tensor<i1>) -> tensor<i1>
  func.return
}
