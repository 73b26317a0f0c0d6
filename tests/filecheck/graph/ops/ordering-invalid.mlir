// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @top_k_c1_element(%x: tensor<3xi1>) {
  // expected-error: element type must be a float or an integer, found i1
  %0, %1 = graph.top_k %x k <[2]> axis 0 largest true : tensor<3xi1> -> (tensor<2xi1>, tensor<2xi64>)
  func.return
}
// -----
func.func @top_k_c2_axis(%x: tensor<3xf32>) {
  // expected-error: axis must be in 0..0, found 1
  %0, %1 = graph.top_k %x k <[2]> axis 1 largest true : tensor<3xf32> -> (tensor<2xf32>, tensor<2xi64>)
  func.return
}
// -----
func.func @top_k_c3_size(%x: tensor<3xf32>) {
  // expected-error: k must be at most 3, found 4
  %0, %1 = graph.top_k %x k <[4]> axis 0 largest true : tensor<3xf32> -> (tensor<4xf32>, tensor<4xi64>)
  func.return
}
// -----
func.func @reverse_sequence_c1_lengths(%x: tensor<2x5xf32>, %n: tensor<3xi64>) {
  // expected-error: lengths must have shape (2), found (3)
  %0 = graph.reverse_sequence %x, %n batch_axis 0 time_axis 1 : (tensor<2x5xf32>, tensor<3xi64>) -> tensor<2x5xf32>
  func.return
}
// -----
func.func @reverse_sequence_c2_axes(%x: tensor<2x5xf32>, %n: tensor<2xi64>) {
  // expected-error: batch_axis and time_axis must differ, both are 0
  %0 = graph.reverse_sequence %x, %n batch_axis 0 time_axis 0 : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  func.return
}
