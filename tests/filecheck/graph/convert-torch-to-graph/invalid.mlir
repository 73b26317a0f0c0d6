// RUN: stepwell-opt %s -p convert-torch-to-graph --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no conversion for aten.erfinv.default, mylib.foo.default
  %y = "torch.aten.erfinv.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = "torch.operator"(%y) <{target = "mylib.foo.default"}> {torch.module = "head (Matcher)"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
// -----
func.func @shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: aten.relu.default makes tensor<4xf32>, and the program records tensor<5xf32>
  %y = "torch.aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// -----
func.func @element(%x: tensor<4xi64>) -> tensor<4xi32> {
  // expected-error: aten.slice.Tensor makes tensor<4xi64>, and the program records tensor<4xi32>
  %y = "torch.aten.slice.Tensor"(%x) : (tensor<4xi64>) -> tensor<4xi32>
  func.return %y : tensor<4xi32>
}
// -----
func.func @training(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: aten.dropout.default: dropout in training
  %y = "torch.aten.dropout.default"(%x) {p = 0.5 : f64, train = true} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// -----
func.func @random() -> tensor<4xf32> {
  // expected-error: aten.rand.default: random numbers
  %y = "torch.aten.rand.default"() {size = [4]} : () -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// -----
func.func @strides(%x: tensor<4x4xf32>) -> tensor<4x2xf32> {
  // expected-error: aten.as_strided.default: a view of a part, by strides
  %y = "torch.aten.as_strided.default"(%x) {size = [4, 2], stride = [4, 1]} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}
// -----
func.func @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: aten.log_sigmoid_forward.default: result 1 is not computed
  %y:2 = "torch.aten.log_sigmoid_forward.default"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %y#1 : tensor<4xf32>
}
// -----
func.func @divisor(%x: tensor<1x2x5x5xf32>) -> tensor<1x2x3x3xf32> {
  // expected-error: aten.avg_pool2d.default: `divisor_override` of windows that `ceil_mode` cuts off
  %y = "torch.aten.avg_pool2d.default"(%x) {kernel_size = [2, 2], ceil_mode = true, divisor_override = 3 : i64} : (tensor<1x2x5x5xf32>) -> tensor<1x2x3x3xf32>
  func.return %y : tensor<1x2x3x3xf32>
}
// -----
func.func @channels(%x: tensor<4xf32>, %m: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: aten.batch_norm.default: the input must have rank 2 or more, [batch, channels, ...], found rank 1
  %y = "torch.aten.batch_norm.default"(%x, %m, %m) {training = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64, cudnn_enabled = false, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
