// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @unknown_argument(%x: tensor<4xf32>) {
  // expected-error: aten.relu.default has no argument `slope`
  %y = "torch.aten.relu.default"(%x) {slope = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @kind(%x: tensor<4xf32>) {
  // expected-error: `dim` must be int, found 1.000000e+00 : f32
  %y = "torch.aten.cumsum.default"(%x) {dim = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @list(%x: tensor<4xf32>) {
  // expected-error: `size` must be a list of int, found 2 : i64
  %y = "torch.aten.view.default"(%x) {size = 2 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
  func.return
}
// -----
func.func @missing(%x: tensor<4xf32>) {
  // expected-error: aten.cumsum.default needs the argument `dim`
  %y = "torch.aten.cumsum.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @size(%x: tensor<4xf32>) {
  // expected-error: `size` must be a list of int
  %y = "torch.aten.view.default"(%x) {size = ["N +"]} : (tensor<4xf32>) -> tensor<2x2xf32>
  func.return
}
// -----
func.func @present(%x: tensor<4xf32>, %i: tensor<2xi64>) {
  // expected-error: `indices.present` must be true for 1 tensors
  %y = "torch.aten.index.Tensor"(%x, %i) {indices.present = [false, false]} : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @weight() {
  // expected-error: the weight is tensor<2xf32>, the result tensor<3xf32>
  %y = "torch.weight"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}
