// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_length(%key: tensor<1xi64>) {
  // expected-error: the key must be a vector of two i64, found tensor<1xi64>
  %0 = graph.random_bits %key count <[4]> : tensor<1xi64> -> tensor<4xui64>
  func.return
}
// -----
func.func @c1_element(%key: tensor<2xi32>) {
  // expected-error: the key must be a vector of two i64, found tensor<2xi32>
  %0 = graph.random_bits %key count <[4]> : tensor<2xi32> -> tensor<4xui64>
  func.return
}
// -----
func.func @c2(%key: tensor<2xi64>) {
  // expected-error: count must be one dimension, found 2
  %0 = graph.random_bits %key count <[4, 5]> : tensor<2xi64> -> tensor<4x5xui64>
  func.return
}
