// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @transpose_c1_repeats(%x: tensor<2x3xf32>) {
  // expected-error: perm must be a permutation of 0..1, found [1, 1]
  %0 = graph.transpose %x perm [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  func.return
}
// -----
func.func @transpose_type(%x: tensor<2x3xf32>) {
  // expected-error: result type must be tensor<3x2xf32>, found tensor<2x3xf32>
  %0 = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
// -----
func.func @concat_c1_element(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error: operands must have one element type, found f32 and i32
  %0 = graph.concat %x, %y axis 0 : (tensor<2xf32>, tensor<2xi32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @concat_c2_axis(%x: tensor<2xf32>) {
  // expected-error: axis must be in 0..0, found 1
  %0 = graph.concat %x axis 1 : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @concat_c3_shapes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error: shapes (2, 3) and (2, 4) do not join along axis 0
  %0 = graph.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @split_c2_count(%x: tensor<6xf32>) {
  // expected-error: expected 1 sizes, one a result, found 2
  %0 = graph.split %x axis 0 sizes <[2, 4]> : tensor<6xf32> -> (tensor<6xf32>)
  func.return
}
// -----
func.func @split_c3_sum(%x: tensor<6xf32>) {
  // expected-error: sizes must add up to 6, found 5
  %0, %1 = graph.split %x axis 0 sizes <[2, 3]> : tensor<6xf32> -> (tensor<2xf32>, tensor<3xf32>)
  func.return
}
// -----
func.func @slice_c1_none(%x: tensor<6xf32>) {
  // expected-error: limits must be given once: as an attribute or as an operand
  %0 = graph.slice %x starts <[0]> steps [1] : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @slice_c2_step(%x: tensor<6xf32>) {
  // expected-error: starts, limits and non-zero steps must be 1 each, found 1, 1 and [0]
  %0 = graph.slice %x starts <[0]> limits <[6]> steps [0] : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @slice_c3_outside(%x: tensor<6xf32>) {
  // expected-error: starts and limits must be in -1..5, found 6
  %0 = graph.slice %x starts <[6]> limits <[-1]> steps [-1] : tensor<6xf32> -> tensor<7xf32>
  func.return
}
// -----
func.func @insert_slice_c1_rank(%x: tensor<6xf32>, %y: tensor<1x2xf32>) {
  // expected-error: the update must have rank 1, found rank 2
  %0 = graph.insert_slice %y into %x at <[0]> : (tensor<1x2xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return
}
// -----
func.func @insert_slice_c2_offsets(%x: tensor<6xf32>, %y: tensor<2xf32>) {
  // expected-error: expected 1 offsets, one a dimension, found 2
  %0 = graph.insert_slice %y into %x at <[0, 0]> : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return
}
// -----
func.func @insert_slice_c3_room(%x: tensor<6xf32>, %y: tensor<2xf32>) {
  // expected-error: an offset of 5 is not between 0 and 4
  %0 = graph.insert_slice %y into %x at <[5]> : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return
}
// -----
func.func @insert_slice_c3_negative(%x: tensor<6xf32>, %y: tensor<2xf32>) {
  // expected-error: an offset of -1 is not between 0 and 4
  %0 = graph.insert_slice %y into %x at <[-1]> : (tensor<2xf32>, tensor<6xf32>) -> tensor<6xf32>
  func.return
}
// -----
func.func @reverse_c1_axis(%x: tensor<6xf32>) {
  // expected-error: an axis must be in 0..0, found 1
  %0 = graph.reverse %x axes [1] : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @pad_c1_count(%x: tensor<6xf32>) {
  // expected-error: expected 2 pads, two a dimension, found 1
  %0 = graph.pad %x pads <[1]> mode "edge" : tensor<6xf32> -> tensor<7xf32>
  func.return
}
// -----
func.func @pad_c2_mode(%x: tensor<6xf32>) {
  // expected-error: mode must be one of constant, reflect, edge, wrap, found mirror
  %0 = graph.pad %x pads <[1, 0]> mode "mirror" : tensor<6xf32> -> tensor<7xf32>
  func.return
}
// -----
func.func @pad_c3_value(%x: tensor<6xf32>, %v: tensor<f32>) {
  // expected-error: mode edge takes no value
  %0 = graph.pad %x with %v : tensor<f32> pads <[1, 0]> mode "edge" : tensor<6xf32> -> tensor<7xf32>
  func.return
}
// -----
func.func @tile_c1_count(%x: tensor<6xf32>) {
  // expected-error: expected 1 repeats, one a dimension, found 2
  %0 = graph.tile %x repeats <[1, 2]> : tensor<6xf32> -> tensor<12xf32>
  func.return
}
// -----
func.func @resize_c1_count(%x: tensor<6xf32>) {
  // expected-error: expected 1 sizes, one an axis, found 2
  %0 = graph.resize %x shape <[6, 6]> mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @resize_c2_scales(%x: tensor<6xf32>) {
  // expected-error: scales must be positive, found [0.0]
  %0 = graph.resize %x shape <[6]> scales [0.0] mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @resize_c3_mode(%x: tensor<6xf32>) {
  // expected-error: mode must be one of nearest, linear, cubic, found area
  %0 = graph.resize %x shape <[6]> mode "area" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : tensor<6xf32> -> tensor<6xf32>
  func.return
}
// -----
func.func @resize_c3_antialias(%x: tensor<6xf32>) {
  // expected-error: mode nearest takes no antialias
  %0 = graph.resize %x shape <[6]> mode "nearest" coordinate "half_pixel" nearest "floor" cubic_a 0.0 antialias extrapolation 0.0 : tensor<6xf32> -> tensor<6xf32>
  func.return
}
