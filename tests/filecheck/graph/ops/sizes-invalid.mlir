// RUN: stepwell-opt %s --split-input-file --verify-diagnostics
func.func @bind_c1_element(%s: tensor<2xf32>) {
  // expected-error: sizes come from an i64 tensor of known shape, found tensor<2xf32>
  %a, %b = graph.bind_sizes %s names ["a", "b"] : tensor<2xf32> -> index, index
  func.return
}
// -----
func.func @bind_c2_a_name_each(%s: tensor<2xi64>) {
  // expected-error: expected 2 names and results, found 1
  %a = graph.bind_sizes %s names ["a"] : tensor<2xi64> -> index
  func.return
}
// -----
func.func @define_c1_unknown() {
  // expected-error: every expression must be known, found (?)
  %a = graph.define_sizes <["?"]> names ["a"] -> index
  func.return
}
// -----
func.func @define_c2_a_name_each() {
  // expected-error: expected 2 names and results, found 1
  %a = graph.define_sizes <[1, 2]> names ["a"] -> index
  func.return
}
// -----
func.func @check_c1_integers(%i: tensor<2xf32>) {
  // expected-error: an integer
  graph.check_indices %i within <[3]> : tensor<2xf32>
  func.return
}
// -----
func.func @check_c2_a_size_each(%i: tensor<3x2xi64>) {
  // expected-error: sizes (3, 4, 5) do not fit indices (3, 2)
  graph.check_indices %i within <[3, 4, 5]> : tensor<3x2xi64>
  func.return
}
// -----
func.func @check_offsets_c1_a_limit_each() {
  // expected-error: limits (7) do not fit offsets (p, 2)
  graph.check_offsets <["p", 2]> up_to <[7]>
  func.return
}
// -----
func.func @check_offsets_c1_unknown() {
  // expected-error: limits (?) do not fit offsets (p)
  graph.check_offsets <["p"]> up_to <["?"]>
  func.return
}
// -----
func.func @check_accesses_c1(%f: tensor<2xi64>) {
  // expected-error: the record is a tensor<3xi64>, its numbers are from 1 on, found number 1 of tensor<2xi64>
  graph.check_accesses %f number 1 of "x[i]" : tensor<2xi64>
  func.return
}
