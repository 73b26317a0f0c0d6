// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_number(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error: element type must be a float or an integer, found i1
  %0 = graph.add %a, %b : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return
}
// -----
func.func @c1_bits(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error: element type must be i1 or an integer, found f32
  %0 = graph.and %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @c1_integer(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error: element type must be an integer, found i1
  %0 = graph.shift_left %a, %b : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return
}
// -----
func.func @c2_element(%a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error: operands must have one element type, found f32 and f16
  %0 = graph.add %a, %b : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}
// -----
func.func @c3_shapes(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error: shapes (2, 3) and (2) do not broadcast: 3 against 2
  %0 = graph.add %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @result_of_compare(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error: result type must be tensor<2x3xi1>, found tensor<2x3xf32>
  %0 = graph.less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @power_c2_exponent(%a: tensor<2xf32>, %b: tensor<2xi1>) {
  // expected-error: element type of the exponent must be a float or an integer, found i1
  %0 = graph.power %a, %b : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  func.return
}
// -----
func.func @remainder_c4_rounding(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error: rounding must be "floor" or "trunc", found "ceil"
  %0 = graph.remainder %a, %b rounding "ceil" : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @where_c1_condition(%c: tensor<3xi8>, %a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error: element type of the condition must be i1, found i8
  %0 = graph.where %c, %a, %b : (tensor<3xi8>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @where_c2_element(%c: tensor<3xi1>, %a: tensor<3xf32>, %b: tensor<3xi32>) {
  // expected-error: operands must have one element type, found f32 and i32
  %0 = graph.where %c, %a, %b : (tensor<3xi1>, tensor<3xf32>, tensor<3xi32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @where_c3_shapes(%c: tensor<2xi1>, %a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error: shapes (2) and (2, 3) and (3) do not broadcast: 2 against 3
  %0 = graph.where %c, %a, %b : (tensor<2xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
