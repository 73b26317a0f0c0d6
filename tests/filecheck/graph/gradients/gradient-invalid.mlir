// RUN: stepwell-opt %s -p gradient --split-input-file --verify-diagnostics

func.func @unknown() {
  // expected-error: there is no function @f with a body
  %v = graph.gradient @f wrt [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
// -----
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @other_type() {
  // expected-error: the derivative of @f has type (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>), found (tensor<4xf32>) -> tensor<4xf32>
  %v = graph.gradient @f wrt [0] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @g(%x: tensor<4xi64>) -> tensor<4xi64> {
  func.return %x : tensor<4xi64>
}
func.func @of_integers() {
  // expected-error: argument 0 of @g is tensor<4xi64>, which has no derivative
  %v = graph.gradient @g wrt [0] : (tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
  func.return
}
// -----
func.func @h(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no derivative is known of graph.bitcast
  %i = graph.bitcast %x to i32 : tensor<4xf32> -> tensor<4xi32>
  %y = graph.bitcast %i to f32 : tensor<4xi32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @through_an_op() {
  %v = graph.gradient @h wrt [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
// -----
func.func @itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: @itself contains a derivative of itself
  %v = graph.gradient @itself wrt [0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %y, %d = graph.call %v(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %d : tensor<4xf32>
}
// -----
// expected-error: @own_vjp, the derivative of @own, must have type (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @own(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.derivative = @own_vjp} {
  func.return %x : tensor<4xf32>
}
func.func @own_vjp(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @of_a_wrong_derivative() {
  %g = graph.vjp @own wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
