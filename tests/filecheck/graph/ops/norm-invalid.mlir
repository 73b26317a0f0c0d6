// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_c1_element(%x: tensor<2x3xi32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.layer_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x3xi32> -> tensor<2x3xi32>
  func.return
}
// -----
func.func @layer_norm_c2_axis(%x: tensor<2x6x4xf32>) {
  // expected-error: axis must be in 0..2, found 3
  %0 = graph.layer_norm %x axis 3 eps 1.0e-5 compute_type f32 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @layer_norm_c3_element(%x: tensor<2x6x4xf32>, %s: tensor<4xi32>) {
  // expected-error: element type of the scale must be a float, found i32
  %0 = graph.layer_norm %x scale %s : tensor<4xi32> axis 2 eps 1.0e-5 compute_type f32 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @layer_norm_c3_shape(%x: tensor<2x6x4xf32>, %s: tensor<3x2x6x4xf32>) {
  // expected-error: the scale must broadcast to the input's shape (2, 6, 4), found (3, 2, 6, 4)
  %0 = graph.layer_norm %x scale %s : tensor<3x2x6x4xf32> axis 2 eps 1.0e-5 compute_type f32 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @layer_norm_c4_compute_type(%x: tensor<2x6x4xf32>) {
  // expected-error: compute_type must be a float, found i32
  %0 = graph.layer_norm %x axis 2 eps 1.0e-5 compute_type i32 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @rms_norm_c2_axis(%x: tensor<2x6x4xf32>) {
  // expected-error: axis must be in 0..2, found 4
  %0 = graph.rms_norm %x axis 4 eps 1.0e-5 compute_type f32 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @lp_norm_c3_p(%x: tensor<2x6x4xf32>) {
  // expected-error: p must be 1 or 2, found 3
  %0 = graph.lp_norm %x axis 1 p 3 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @batch_norm_c1_element(%x: tensor<2x6xi32>, %v: tensor<6xf32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.batch_norm %x mean %v variance %v eps 1.0e-5 axis 1 : (tensor<2x6xi32>, tensor<6xf32>) -> tensor<2x6xi32>
  func.return
}
// -----
func.func @batch_norm_c2_axis(%x: tensor<2x6x4xf32>, %v: tensor<6xf32>) {
  // expected-error: axis must be in 0..2, found 5
  %0 = graph.batch_norm %x mean %v variance %v eps 1.0e-5 axis 5 : (tensor<2x6x4xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @batch_norm_c3_size(%x: tensor<2x6x4xf32>, %v: tensor<4xf32>) {
  // expected-error: the mean must have shape (6), found (4)
  %0 = graph.batch_norm %x mean %v variance %v eps 1.0e-5 axis 1 : (tensor<2x6x4xf32>, tensor<4xf32>) -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @instance_norm_c2_rank(%x: tensor<6xf32>) {
  // expected-error: the input must have rank 2 or more, found 1
  %0 = graph.instance_norm %x eps 1.0e-5 : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @instance_norm_c3_scale(%x: tensor<2x6x4xf32>, %s: tensor<2xf32>) {
  // expected-error: the scale must have shape (6), found (2)
  %0 = graph.instance_norm %x scale %s : tensor<2xf32> eps 1.0e-5 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @group_norm_c4_groups(%x: tensor<2x6x4xf32>) {
  // expected-error: groups must divide the 6 channels, found 4
  %0 = graph.group_norm %x groups 4 eps 1.0e-5 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
// -----
func.func @lrn_c1_element(%x: tensor<2x6xi32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.lrn %x size 3 alpha 1.0e-4 beta 0.75 bias 1.0 : tensor<2x6xi32> -> tensor<2x6xi32>
  func.return
}
// -----
func.func @lrn_c2_rank(%x: tensor<6xf32>) {
  // expected-error: the input must have rank 2 or more, found 1
  %0 = graph.lrn %x size 3 alpha 1.0e-4 beta 0.75 bias 1.0 : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @lrn_c3_size(%x: tensor<2x6x4xf32>) {
  // expected-error: size must be at least 1, found 0
  %0 = graph.lrn %x size 0 alpha 1.0e-4 beta 0.75 bias 1.0 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
  func.return
}
