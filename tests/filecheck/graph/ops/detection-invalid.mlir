// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @non_max_suppression_c1_element(%b: tensor<2x40x4xf16>, %s: tensor<2x3x40xf32>, %t: tensor<f32>) {
  // expected-error: boxes must be f32 of rank 3, found tensor<2x40x4xf16>
  %0, %1 = graph.non_max_suppression %b, %s overlap %t most <[9]> center false : (tensor<2x40x4xf16>, tensor<2x3x40xf32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @non_max_suppression_c1_rank(%b: tensor<2x40x4xf32>, %s: tensor<3x40xf32>, %t: tensor<f32>) {
  // expected-error: scores must be f32 of rank 3, found tensor<3x40xf32>
  %0, %1 = graph.non_max_suppression %b, %s overlap %t most <[9]> center false : (tensor<2x40x4xf32>, tensor<3x40xf32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @non_max_suppression_c1_numbers(%b: tensor<2x40x5xf32>, %s: tensor<2x3x40xf32>, %t: tensor<f32>) {
  // expected-error: boxes must have shape (2, 40, 4), found (2, 40, 5)
  %0, %1 = graph.non_max_suppression %b, %s overlap %t most <[9]> center false : (tensor<2x40x5xf32>, tensor<2x3x40xf32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @non_max_suppression_c2_overlap(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %t: tensor<1xf32>) {
  // expected-error: overlap must be f32 of rank 0, found tensor<1xf32>
  %0, %1 = graph.non_max_suppression %b, %s overlap %t most <[9]> center false : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<1xf32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @non_max_suppression_c2_least(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %t: tensor<f32>, %l: tensor<f64>) {
  // expected-error: least must be f32 of rank 0, found tensor<f64>
  %0, %1 = graph.non_max_suppression %b, %s overlap %t least %l most <[9]> center false : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>, tensor<f64>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @non_max_suppression_c3_most(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %t: tensor<f32>) {
  // expected-error: most must be one dimension, found 2
  %0, %1 = graph.non_max_suppression %b, %s overlap %t most <[9, 9]> center false : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @non_max_suppression_c4_result(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %t: tensor<f32>) {
  // expected-error: result type must be tensor<2x3x9xi64>, found tensor<2x3x8xi64>
  %0, %1 = graph.non_max_suppression %b, %s overlap %t most <[9]> center false : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>) -> (tensor<2x3x8xi64>, tensor<2x3xi64>)
  func.return
}
// -----
func.func @join_parts_c1_element(%p: tensor<3x9xi32>, %c: tensor<3xi64>) {
  // expected-error: parts must be i64, found i32
  %0 = graph.join_parts %p, %c size <[7]> : (tensor<3x9xi32>, tensor<3xi64>) -> tensor<7x2xi64>
  func.return
}
// -----
func.func @join_parts_c1_dims(%p: tensor<3x9xi64>, %c: tensor<2xi64>) {
  // expected-error: counts must have shape (3), found (2)
  %0 = graph.join_parts %p, %c size <[7]> : (tensor<3x9xi64>, tensor<2xi64>) -> tensor<7x2xi64>
  func.return
}
// -----
func.func @join_parts_c1_rank(%p: tensor<i64>, %c: tensor<i64>) {
  // expected-error: parts must have a dimension
  %0 = graph.join_parts %p, %c size <[7]> : (tensor<i64>, tensor<i64>) -> tensor<7x0xi64>
  func.return
}
// -----
func.func @join_parts_c2_size(%p: tensor<3x9xi64>, %c: tensor<3xi64>) {
  // expected-error: size must be one dimension, found 0
  %0 = graph.join_parts %p, %c size <[]> : (tensor<3x9xi64>, tensor<3xi64>) -> tensor<7x2xi64>
  func.return
}
// -----
func.func @join_parts_c3_result(%p: tensor<3x9xi64>, %c: tensor<3xi64>) {
  // expected-error: result type must be tensor<7x2xi64>, found tensor<7x3xi64>
  %0 = graph.join_parts %p, %c size <[7]> : (tensor<3x9xi64>, tensor<3xi64>) -> tensor<7x3xi64>
  func.return
}
