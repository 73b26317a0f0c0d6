// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @unknown_argument(%x: tensor<4xf32>) {
  // expected-error: relu has no argument `alpha`
  %y = "coreml.relu"(%x) {alpha = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @missing(%x: tensor<4xf32>) {
  // expected-error: concat needs the argument `axis`
  %y = "coreml.concat"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}
// -----
func.func @kind(%x: tensor<4x4xf32>) {
  // expected-error: `perm` must be a list of int, found 1 : i64
  %y = "coreml.transpose"(%x) {perm = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}
// -----
func.func @weight() {
  // expected-error: the weight is tensor<2xf32>, the result tensor<3xf32>
  %y = "coreml.weight"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}
// -----
func.func @arguments(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: both regions must take 1 values
  %y = "coreml.while"(%x) ({
    "coreml.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    "coreml.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @regions(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: coreml.if must have an operand that chooses, and two regions or more
  %y = "coreml.if"(%c) ({
    "coreml.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return
}
