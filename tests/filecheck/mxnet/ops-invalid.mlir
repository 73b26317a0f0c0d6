// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @unknown_argument(%x: tensor<4xf32>) {
  // expected-error: relu has no argument `alpha`
  %y = "mxnet.relu"(%x) {alpha = 1.0 : f64} : (tensor<4xf32>) -> tensor<*xf32>
  func.return
}
// -----
func.func @missing(%x: tensor<4x4xf32>) {
  // expected-error: expand_dims needs the argument `axis`
  %y = "mxnet.expand_dims"(%x) : (tensor<4x4xf32>) -> tensor<*xf32>
  func.return
}
// -----
func.func @kind(%x: tensor<4x4xf32>) {
  // expected-error: `axis` must be int, found 1.000000e+00 : f64
  %y = "mxnet.softmax"(%x) {axis = 1.0 : f64} : (tensor<4x4xf32>) -> tensor<*xf32>
  func.return
}
