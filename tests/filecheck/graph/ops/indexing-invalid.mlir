// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @gather_c1_indices(%x: tensor<3xf32>, %i: tensor<2xf32>) {
  // expected-error: indices must be an integer, found f32
  %0 = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<3xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @gather_c2_axis(%x: tensor<3xf32>, %i: tensor<2xi64>) {
  // expected-error: axis must be in 0..0, found 1
  %0 = graph.gather %x, %i axis 1 batch_dims 0 bounds "check" : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @gather_c3_batch(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error: the first 1 dimensions must be equal, found (3, 4) and (2)
  %0 = graph.gather %x, %i axis 1 batch_dims 1 bounds "check" : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3xf32>
  func.return
}
// -----
func.func @gather_c4_bounds(%x: tensor<3xf32>, %i: tensor<2xi64>) {
  // expected-error: bounds must be one of check, clip, found wrap
  %0 = graph.gather %x, %i axis 0 batch_dims 0 bounds "wrap" : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @gather_elements_c1_rank(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error: indices must have rank 2, found rank 1
  %0 = graph.gather_elements %x, %i axis 0 : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @gather_nd_c1_last(%x: tensor<3x4xf32>, %i: tensor<2x?xi64>) {
  // expected-error: the last dimension of the indices must be known, found (2, ?)
  %0 = graph.gather_nd %x, %i batch_dims 0 : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @gather_nd_c2_batch(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error: batch_dims must be in 0..0, found 1
  %0 = graph.gather_nd %x, %i batch_dims 1 : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @gather_nd_c3_numbers(%x: tensor<3x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error: a position has at most 2 numbers, found 3
  %0 = graph.gather_nd %x, %i batch_dims 0 : (tensor<3x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @scatter_elements_c2_combine(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error: combine must be one of none, add, mul, max, min, found sub
  %0 = graph.scatter_elements %x, %i, %u axis 0 combine "sub" : (tensor<3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_elements_c3_updates(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  // expected-error: updates must have shape (2), found (3)
  %0 = graph.scatter_elements %x, %i, %u axis 0 combine "none" : (tensor<3xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_nd_c1_element(%x: tensor<3xf32>, %i: tensor<2x1xi64>, %u: tensor<2xi32>) {
  // expected-error: operands must have one element type, found f32 and i32
  %0 = graph.scatter_nd %x, %i, %u combine "none" : (tensor<3xf32>, tensor<2x1xi64>, tensor<2xi32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_nd_c4_updates(%x: tensor<3x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  // expected-error: updates must have shape (2, 4), found (2)
  %0 = graph.scatter_nd %x, %i, %u combine "none" : (tensor<3x4xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<3x4xf32>
  func.return
}
// -----
func.func @one_hot_c2_depth(%i: tensor<2xi64>) {
  // expected-error: depth must be one dimension, found 2
  %0 = graph.one_hot %i depth <[3, 4]> axis 0 : tensor<2xi64> -> tensor<3x2xi1>
  func.return
}
// -----
func.func @one_hot_c3_axis(%i: tensor<2xi64>) {
  // expected-error: axis must be in 0..1, found 2
  %0 = graph.one_hot %i depth <[3]> axis 2 : tensor<2xi64> -> tensor<2x3xi1>
  func.return
}
