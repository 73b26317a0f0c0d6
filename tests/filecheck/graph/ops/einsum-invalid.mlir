// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_implicit(%a: tensor<2x3xf32>) {
  // expected-error: equation must be terms of letters and "->", found "ij"
  %0 = graph.einsum "ij" %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @c2_terms(%a: tensor<2x3xf32>) {
  // expected-error: equation has 2 terms for 1 operands
  %0 = graph.einsum "ij,jk->ik" %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @c2_rank(%a: tensor<2x3xf32>) {
  // expected-error: term "i" has 1 letters for an operand of rank 2
  %0 = graph.einsum "i->i" %a : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @c2_result(%a: tensor<2x3xf32>) {
  // expected-error: result letters "ik" must be distinct letters of the terms
  %0 = graph.einsum "ij->ik" %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @c3_extents(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error: shapes (3) and (4) do not broadcast
  %0 = graph.einsum "ij,jk->ik" %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}
// -----
func.func @c4_result(%a: tensor<2x3xf32>) {
  // expected-error: result type must be tensor<3x2xf32>, found tensor<2x3xf32>
  %0 = graph.einsum "ij->ji" %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
