// RUN: stepwell-opt %s -p convert-mxnet-to-graph --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<*xf32> {
  // expected-error: no conversion for MultiBoxPrior
  %z = "mxnet.operator"(%x) <{target = "MultiBoxPrior"}> : (tensor<4xf32>) -> tensor<*xf32>
  func.return %z : tensor<*xf32>
}
// -----
func.func @element(%x: tensor<4xf32>) -> tensor<*xi32> {
  // expected-error: relu makes tensor<4xf32>, and the program records tensor<*xi32>
  %y = "mxnet.relu"(%x) : (tensor<4xf32>) -> tensor<*xi32>
  func.return %y : tensor<*xi32>
}
// -----
func.func @open(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error: relu: the shape of `data` is not in the file
  %y = "mxnet.relu"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
// -----
func.func @layout(%x: tensor<1x4x4x2xf32>, %w: tensor<1x1x1x2xf32>) {
  // expected-error: Convolution: feature maps in the order NHWC
  %y = "mxnet.Convolution"(%x, %w) {kernel = [1, 1], num_filter = 1, no_bias = true, layout = "NHWC", operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x4x4x2xf32>, tensor<1x1x1x2xf32>) -> tensor<*xf32>
  func.return
}
// -----
func.func @codes(%x: tensor<4xf32>) {
  // expected-error: Reshape: the code -3 where 1 axes are left
  %y = "mxnet.Reshape"(%x) {shape = [-3]} : (tensor<4xf32>) -> tensor<*xf32>
  func.return
}
// -----
func.func @bounds(%x: tensor<4xf32>) {
  // expected-error: slice: `begin` must be whole numbers or None, found '(a)'
  %y = "mxnet.slice"(%x) {begin = "(a)", end = "()"} : (tensor<4xf32>) -> tensor<*xf32>
  func.return
}
