// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_elements_differ(%a: tensor<4x8xf32>, %b: tensor<8x3xf64>) {
  // expected-error: operands must have one element type, found f32 and f64
  %0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x3xf64>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @c1_transposed_vector(%a: tensor<8xf32>, %b: tensor<8x3xf32>) {
  // expected-error: operand a must have rank 2 or more, found 1
  %0 = graph.matmul %a, %b transpose_a true : (tensor<8xf32>, tensor<8x3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @c2_panels(%a: tensor<4x8xf32>, %b: tensor<2x8x8xf32>) {
  // expected-error: b must be panels (N/16, K, 16), not transposed: (2, 8, 8)
  %0 = graph.matmul %a, %b packing 16 : (tensor<4x8xf32>, tensor<2x8x8xf32>) -> tensor<4x16xf32>
  func.return
}
// -----
func.func @c5_pairs_of_floats(%a: tensor<4x8xf32>, %b: tensor<2x8x8xf32>) {
  // expected-error: pairs of bf16 are i32, found f32
  %0 = graph.matmul %a, %b packing 8 pairs true : (tensor<4x8xf32>, tensor<2x8x8xf32>) -> tensor<4x16xf32>
  func.return
}
// -----
func.func @c5_pairs_without_panels(%a: tensor<4x8xi32>, %b: tensor<8x8xi32>) {
  // expected-error: pairs need a packed b, no transposed a and no out_type
  %0 = graph.matmul %a, %b pairs true : (tensor<4x8xi32>, tensor<8x8xi32>) -> tensor<4x8xf32>
  func.return
}
// -----
func.func @c6_pairs_of_floats(%x: tensor<1x4x6x6xi32>, %w: tensor<8x4x1x1xf32>) {
  // expected-error: pairs of bf16 are i32, found f32
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] pairs true
    : (tensor<1x4x6x6xi32>, tensor<8x4x1x1xf32>) -> tensor<1x8x6x6xf32>
  func.return
}
// -----
func.func @c3_contracted(%a: tensor<4x8xf32>, %b: tensor<7x3xf32>) {
  // expected-error: contracted dimensions must be equal, found 8 in a and 7 in b
  %0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<7x3xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @c3_batch(%a: tensor<2x4x8xf32>, %b: tensor<3x8x3xf32>) {
  // expected-error: shapes (2) and (3) do not broadcast
  %0 = graph.matmul %a, %b : (tensor<2x4x8xf32>, tensor<3x8x3xf32>) -> tensor<2x4x3xf32>
  func.return
}
// -----
func.func @c4_result(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) {
  // expected-error: result type must be tensor<4x3xf32>, found tensor<3x4xf32>
  %0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<3x4xf32>
  func.return
}
// -----
func.func @bias_c2_axis(%x: tensor<1x64x7xf32>, %b: tensor<64xf32>) {
  // expected-error: axis must be in 0..2, found 3
  %0 = graph.bias_add %x, %b axis 3 : (tensor<1x64x7xf32>, tensor<64xf32>) -> tensor<1x64x7xf32>
  func.return
}
// -----
func.func @bias_c3_extent(%x: tensor<1x64x7xf32>, %b: tensor<7xf32>) {
  // expected-error: bias must have shape (64), as axis 1 has, found (7)
  %0 = graph.bias_add %x, %b axis 1 : (tensor<1x64x7xf32>, tensor<7xf32>) -> tensor<1x64x7xf32>
  func.return
}
// -----
func.func @integer_c1_element(%a: tensor<4x8xi16>, %b: tensor<8x3xi8>) {
  // expected-error: operand a must have 8-bit integers, found i16
  %0 = graph.matmul_integer %a, %b : (tensor<4x8xi16>, tensor<8x3xi8>) -> tensor<4x3xi32>
  func.return
}
// -----
func.func @integer_c2_contracted(%a: tensor<4x8xi8>, %b: tensor<7x3xi8>) {
  // expected-error: contracted dimensions must be equal, found 8 in a and 7 in b
  %0 = graph.matmul_integer %a, %b : (tensor<4x8xi8>, tensor<7x3xi8>) -> tensor<4x3xi32>
  func.return
}
// -----
func.func @integer_c3_zero_point(%a: tensor<4x8xi8>, %b: tensor<8x3xi8>, %p: tensor<8xi8>) {
  // expected-error: a_zero_point must have one of the shapes (), (1), (4), (4, 1), found (8)
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<8xi8> : (tensor<4x8xi8>, tensor<8x3xi8>) -> tensor<4x3xi32>
  func.return
}
// -----
func.func @integer_c3_type(%a: tensor<4x8xi8>, %b: tensor<8x3xi8>, %p: tensor<ui8>) {
  // expected-error: a_zero_point must be i8, as its operand, found ui8
  %0 = graph.matmul_integer %a, %b a_zero_point %p : tensor<ui8> : (tensor<4x8xi8>, tensor<8x3xi8>) -> tensor<4x3xi32>
  func.return
}
