// RUN: stepwell-opt %s -p bind-states --split-input-file --verify-diagnostics

// expected-error: no input and output have names that are known as a state's
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  func.return %x : tensor<4xf32>
}

// -----

// Other than along one axis, types are equal.
// expected-error: the state 'h' is tensor<4xf32> before a call, and tensor<4xf64> after it, as 'h_out'
func.func @main(%h: tensor<4xf32> {graph.name = "h"}, %x: tensor<4xf64> {graph.name = "x"})
    -> (tensor<4xf64> {graph.name = "h_out"}) {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error: the state 'h' is tensor<?x?xf32, #graph.dims<["A", "B"]>> before a call
func.func @main(%h: tensor<?x?xf32, #graph.dims<["A", "B"]>> {graph.name = "h"},
                %x: tensor<?x?xf32, #graph.dims<["M", "N"]>> {graph.name = "x"})
    -> (tensor<?x?xf32, #graph.dims<["M", "N"]>> {graph.name = "h_out"}) {
  func.return %x : tensor<?x?xf32, #graph.dims<["M", "N"]>>
}

// -----

// A size that is a number does not grow.
// expected-error: the state 'h' is tensor<4xf32> before a call, and tensor<5xf32> after it
func.func @main(%h: tensor<4xf32> {graph.name = "h"}, %x: tensor<5xf32> {graph.name = "x"})
    -> (tensor<5xf32> {graph.name = "h_out"}) {
  func.return %x : tensor<5xf32>
}

// -----

// expected-error: the state 'h' is tensor<4xf32> before a call, and tensor<2x2xf32> after it
func.func @main(%h: tensor<4xf32> {graph.name = "h"}, %x: tensor<2x2xf32> {graph.name = "x"})
    -> (tensor<2x2xf32> {graph.name = "h_out"}) {
  func.return %x : tensor<2x2xf32>
}

// -----

// An operator that needs the length, in a model that does not say how many tokens are new.
func.func @main(%cache: tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>> {graph.name = "k"},
                %new: tensor<1x1x?x4xf32, #graph.dims<[1, 1, "S", 4]>> {graph.name = "new"},
                %at: tensor<1xi64> {graph.name = "write_indices"})
    -> (tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>> {graph.name = "k_out"}) {
  // expected-error: an operator takes the length of a cache, and no input counts new tokens
  %y = "onnx.TensorScatter"(%cache, %new, %at) <{axis = -2 : i64}>
    : (tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>>, tensor<1x1x?x4xf32, #graph.dims<[1, 1, "S", 4]>>, tensor<1xi64>)
    -> tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>>
  func.return %y : tensor<1x1x?x4xf32, #graph.dims<[1, 1, "M", 4]>>
}
