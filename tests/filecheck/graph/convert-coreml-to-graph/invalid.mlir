// RUN: stepwell-opt %s -p convert-coreml-to-graph --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no conversion for crop_resize, non_zero
  %y = "coreml.non_zero"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = "coreml.operator"(%y) <{target = "crop_resize"}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
// -----
func.func @shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: relu makes tensor<4xf32>, and the program records tensor<5xf32>
  %y = "coreml.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// -----
func.func @strides(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x1x1xf32>) {
  // expected-error: conv: strides [0, 0] and dilations [1, 1] must be positive
  %y = "coreml.conv"(%x, %w) {strides = [0, 0]} : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @count(%x: tensor<1x2x4x4xf32>, %w: tensor<1x2x1x1xf32>) {
  // expected-error: conv: `strides` must have 2 numbers, found [1]
  %y = "coreml.conv"(%x, %w) {strides = [1]} : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @data(%x: tensor<4xf32>, %s: tensor<2xi32>) {
  // expected-error: reshape: `shape` depends on data
  %y = "coreml.reshape"(%x, %s) : (tensor<4xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  func.return
}
// -----
func.func @axis(%x: tensor<4xf32>) {
  // expected-error: softmax: axis 1 is not one of 1 dimensions
  %y = "coreml.softmax"(%x) {axis = 1} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @mode(%x: tensor<4xf32>) {
  // expected-error: gelu: the mode 'CUBE'
  %y = "coreml.gelu"(%x) {mode = "CUBE"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @length(%n: tensor<i32>) {
  // expected-error: make_list: `init_length` depends on data
  %y = "coreml.make_list"(%n) {elem_shape = [3]} : (tensor<i32>) -> tensor<?x3xf32>
  func.return
}
