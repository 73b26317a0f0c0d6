// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @unknown_option(%x: tensor<4xf32>) {
  // expected-error: relu has no argument `alpha`
  %y = "tflite.relu"(%x) {alpha = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @kind(%x: tensor<4xf32>) {
  // expected-error: `axis` must be int, found 1.000000e+00 : f64
  %y = "tflite.concatenation"(%x, %x) {axis = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}
// -----
func.func @weight() {
  // expected-error: the weight is tensor<2xf32>, the result tensor<3xf32>
  %y = "tflite.weight"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}
// -----
func.func @arguments(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: both regions must take 1 values
  %y = "tflite.while"(%x) ({
    "tflite.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b: tensor<4xf32>):
    "tflite.return"(%b) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @choices(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: tflite.if must have an operand that chooses, and two regions or more
  %y = "tflite.if"(%c) ({
    "tflite.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return
}
// -----
func.func @end(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error: a region of tflite.if must end in tflite.return
  %y = "tflite.if"(%c) ({
    "tflite.return"(%x) : (tensor<4xf32>) -> ()
  }, {
    graph.yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return
}
