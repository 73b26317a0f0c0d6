// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @vjp_c1_order() {
  // expected-error: wrt must be sorted and distinct numbers of arguments, found [1, 0]
  %v = graph.vjp @f wrt [1, 0] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @gradient_c1_twice() {
  // expected-error: wrt must be sorted and distinct numbers of arguments, found [1, 1]
  %v = graph.gradient @f wrt [1, 1] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @gradient_c1_negative() {
  // expected-error: wrt must be sorted and distinct numbers of arguments, found [-1]
  %v = graph.gradient @f wrt [-1] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
