// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file --verify-diagnostics

func.func @no_type(%x: tensor<8xf32>) -> !onnx.any {
  // expected-error: needs all inputs and outputs, and `result` alone, a type for each output
  %y = "onnx.Call"(%x) <{domain = "ai.stepwell.ffi", op_type = "f", arguments = {}}> : (tensor<8xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @no_element_type(%x: tensor<8xf32>) -> !onnx.any {
  // expected-error: a result is like f32[N,3], found 'float[8]'
  %y = "onnx.Call"(%x) <{domain = "ai.stepwell.ffi", op_type = "f", arguments = {result = ["float[8]"]}}>
    : (tensor<8xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @texts(%x: tensor<8x!onnx.string>) -> !onnx.any {
  // expected-error: takes tensors of numbers only
  %y = "onnx.Call"(%x) <{domain = "ai.stepwell.ffi", op_type = "f", arguments = {result = ["f32[8]"]}}>
    : (tensor<8x!onnx.string>) -> !onnx.any
  func.return %y : !onnx.any
}
