// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// An operator that is younger than the opset.
builtin.module attributes {onnx.opsets = {"" = 19 : i64}} {
  func.func @young(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error: Gelu does not exist in opset 19 of domain ''
    %y = "onnx.Gelu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}

// -----

// An input that came later.
builtin.module attributes {onnx.opsets = {"" = 12 : i64}} {
  func.func @input(%x: tensor<4xf32>, %axes: tensor<1xi64>) -> tensor<1x4xf32> {
    // expected-error: Unsqueeze has no input `axes` at version 11
    %y = "onnx.Unsqueeze"(%x, %axes) <{axes = array<i64: 0>}> : (tensor<4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    func.return %y : tensor<1x4xf32>
  }
}

// -----

// An attribute that has become an input.
func.func @attribute(%x: tensor<4xf32>, %axes: tensor<1xi64>) -> tensor<1x4xf32> {
  // expected-error: Unsqueeze has no attribute `axes` at version 25
  %y = "onnx.Unsqueeze"(%x, %axes) <{axes = array<i64: 0>}> : (tensor<4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// -----

// A required attribute.
func.func @required(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error: Concat needs attribute `axis` at version 13
  %y = "onnx.Concat"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// The kind of an attribute that changed it.
builtin.module attributes {onnx.opsets = {"" = 5 : i64}} {
  func.func @kind(%x: tensor<4xf32>) -> tensor<4xf64> {
    // expected-error: attribute `to` must be of kind string, found 11 : i64
    %y = "onnx.Cast"(%x) <{to = 11 : i64}> : (tensor<4xf32>) -> tensor<4xf64>
    func.return %y : tensor<4xf64>
  }
}

// -----

// Too few values of a variadic input.
func.func @variadic() -> tensor<8xf32> {
  // expected-error: Concat needs at least 1 at version 13 of input `inputs`, found 0
  %y = "onnx.Concat"() <{axis = 0 : i64}> : () -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// Strings that do not fit their type.
func.func @strings() -> tensor<3x!onnx.string> {
  // expected-error: tensor<3x!onnx.string> has 3 elements, found 2
  %y = "onnx.Constant"() <{value = #onnx.strings<["cat", "dog"], tensor<3x!onnx.string>>}> : () -> tensor<3x!onnx.string>
  func.return %y : tensor<3x!onnx.string>
}
