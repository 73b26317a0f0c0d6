// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @reduce_c1_kind(%x: tensor<2x3xf32>) {
  // expected-error: kind must be one of max, min, prod, sum, l1, l2, log_sum_exp, mean, sum_square, and, or, found "median"
  %0 = graph.reduce %x kind "median" axes [1] keep_dims false : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}
// -----
func.func @reduce_c2_bool(%x: tensor<2x3xf32>) {
  // expected-error: element type must be i1, found f32
  %0 = graph.reduce %x kind "and" axes [1] keep_dims false : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}
// -----
func.func @reduce_c2_float(%x: tensor<2x3xi32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.reduce %x kind "log_sum_exp" axes [1] keep_dims false : tensor<2x3xi32> -> tensor<2xi32>
  func.return
}
// -----
func.func @reduce_c3_axis(%x: tensor<2x3xf32>) {
  // expected-error: axes must be in 0..1, found 2
  %0 = graph.reduce %x kind "sum" axes [2] keep_dims false : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}
// -----
func.func @reduce_c3_order(%x: tensor<2x3xf32>) {
  // expected-error: axes must ascend, found [1, 0]
  %0 = graph.reduce %x kind "sum" axes [1, 0] keep_dims false : tensor<2x3xf32> -> tensor<f32>
  func.return
}
// -----
func.func @reduce_result(%x: tensor<2x3xf32>) {
  // expected-error: result type must be tensor<2x1xf32>, found tensor<2xf32>
  %0 = graph.reduce %x kind "sum" axes [1] keep_dims true : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}
// -----
func.func @argmax_c1_element(%x: tensor<2xi1>) {
  // expected-error: element type must be a float or an integer, found i1
  %0 = graph.argmax %x axis 0 keep_dims false select_last false : tensor<2xi1> -> tensor<i64>
  func.return
}
// -----
func.func @argmax_c2_axis(%x: tensor<2x3xf32>) {
  // expected-error: axis must be in 0..1, found 3
  %0 = graph.argmax %x axis 3 keep_dims false select_last false : tensor<2x3xf32> -> tensor<2xi64>
  func.return
}
// -----
func.func @argmin_c3_empty(%x: tensor<2x0xf32>) {
  // expected-error: graph.argmin over an empty axis has no result
  %0 = graph.argmin %x axis 1 keep_dims false select_last false : tensor<2x0xf32> -> tensor<2xi64>
  func.return
}
// -----
func.func @scan_c1_kind(%x: tensor<2x3xf32>) {
  // expected-error: kind must be one of sum, prod, max, min, found "mean"
  %0 = graph.scan %x kind "mean" axis 0 exclusive false reverse false : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
// -----
func.func @scan_c2_element(%x: tensor<2xi1>) {
  // expected-error: element type must be a float or an integer, found i1
  %0 = graph.scan %x kind "sum" axis 0 exclusive false reverse false : tensor<2xi1> -> tensor<2xi1>
  func.return
}
// -----
func.func @scan_c3_axis(%x: tensor<2x3xf32>) {
  // expected-error: axis must be in 0..1, found 2
  %0 = graph.scan %x kind "sum" axis 2 exclusive false reverse false : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
// -----
func.func @softmax_c1_element(%x: tensor<2xi32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.softmax %x axis 0 : tensor<2xi32> -> tensor<2xi32>
  func.return
}
// -----
func.func @softmax_c2_axis(%x: tensor<2x3xf32>) {
  // expected-error: axis must be in 0..1, found 2
  %0 = graph.softmax %x axis 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
