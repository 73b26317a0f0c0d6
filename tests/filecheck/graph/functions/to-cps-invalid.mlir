// RUN: stepwell-opt %s -p to-cps --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<i64>) -> tensor<i64> {
  func.return %x : tensor<i64>
}
func.func @main(%n: tensor<i64>, %x: tensor<i64>) -> tensor<i64> {
  // expected-error: graph.for has calls inside, whose continuations would leave the loop
  %y = graph.for %i to %n (%a = %x : tensor<i64>) -> (tensor<i64>) {
    %b = graph.call @f(%a) : (tensor<i64>) -> tensor<i64>
    graph.yield %b : tensor<i64>
  }
  func.return %y : tensor<i64>
}
// -----
adt.data @Rule {
  // expected-error: @Rule has a function, whose answer the definition cannot name
  adt.constructor @Rule((tensor<i64>) -> tensor<i64>)
}
// -----
// expected-error: @outside takes or gives functions, and gets no continuation
func.func private @outside((tensor<i64>) -> tensor<i64>) -> tensor<i64>
// -----
func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}
func.func @main(%c: tensor<i1>, %x: tensor<?xf32, #graph.dims<["N"]>>, %z: tensor<3xf32>) -> tensor<?xf32> {
  // expected-error: a branch with calls cannot define the sizes of its results
  %y, %m = graph.if %c : tensor<i1> defines ["m"] -> (tensor<?xf32, #graph.dims<["m"]>>, index) {
    %b = graph.call @f(%x) : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32>
    graph.yield %x : tensor<?xf32, #graph.dims<["N"]>>
  } else {
    graph.yield %z : tensor<3xf32>
  }
  %w = graph.call @f(%y) : (tensor<?xf32, #graph.dims<["m"]>>) -> tensor<?xf32>
  func.return %w : tensor<?xf32>
}
// -----
func.func @loss(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error: graph.gradient is not written out
  %g = graph.gradient @loss wrt [0] : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %y, %d = graph.call %g(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %d : tensor<f32>
}
