// RUN: stepwell-opt %s --load %S/operators.py -p convert-onnx-to-graph --split-input-file --verify-diagnostics
// RUN: not stepwell-opt %s --load %S/operators.py -p convert-onnx-to-graph 2>&1 | filecheck %s

// CHECK: error[invalid-model]: check.functions.Cube takes 1 input (x), found 2
// CHECK-NEXT: operators-invalid.mlir:11:3
// CHECK-NEXT: note: the plugin defines it by cube, {{.*}}/operators.py:28
// CHECK-NEXT: note: in pass convert-onnx-to-graph

func.func @inputs(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Cube takes 1 input (x), found 2
  %y = "onnx.Call"(%x, %x) <{domain = "check.functions", op_type = "Cube", arguments = {}}> : (tensor<4xf32>, tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @optional_inputs(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Norm takes 1 to 2 inputs (x, bias), found 3
  %y = "onnx.Call"(%x, %x, %x) <{domain = "check.functions", op_type = "Norm", arguments = {axis = 0 : i64}}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @absent_input(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Norm needs the input `x`; its inputs are x, bias
  %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Norm", arguments = {axis = 0 : i64}, absent = array<i64: 0>}> : (tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @missing_attribute(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Norm needs the attribute `axis`
  %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Norm", arguments = {}}> : (tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @kind(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Norm needs attribute `axis` of kind int, found float
  %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Norm", arguments = {axis = 1.0 : f32}}> : (tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Cube has no attribute `scales`
  %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Cube", arguments = {scales = 1.0 : f32}}> : (tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @outputs(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Cube: the model uses 2 outputs, and the lowering returns 1
  %y, %z = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Cube", arguments = {}}> : (tensor<4xf32>) -> (!onnx.any, !onnx.any)
  func.return %z : !onnx.any
}

// -----

func.func @graph(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.functions.Cube has a graph as attribute, which only a rewrite pattern can lower
  %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Cube", arguments = {}, graphs = ["body"]}> ({
    %a = "onnx.Constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    "onnx.Yield"(%a) <{outputs = ["a"]}> : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @op(%x: tensor<4xf32>) -> !onnx.any {
  // expected-error: check.ops.Shift has no attribute `numbers`
  %y = "onnx.Call"(%x) <{domain = "check.ops", op_type = "Shift", arguments = {numbers = 7 : i64}}> : (tensor<4xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

func.func @shapes(%x: tensor<3x4xf32>, %b: tensor<5xf32>) -> !onnx.any {
  // expected-error: check.functions.Norm: shapes (3, 4) and (5) do not broadcast: 4 against 5
  %y = "onnx.Call"(%x, %b) <{domain = "check.functions", op_type = "Norm", arguments = {axis = 1 : i64}}> : (tensor<3x4xf32>, tensor<5xf32>) -> !onnx.any
  func.return %y : !onnx.any
}

// -----

module attributes {onnx.opsets = {"" = 18 : i64, "check.later" = 2 : i64}} {
  func.func @no_plugin(%x: tensor<4xf32>) -> !onnx.any {
    // expected-error: no conversion for check.missing.Cube
    %y = "onnx.Call"(%x) <{domain = "check.missing", op_type = "Cube", arguments = {}}> : (tensor<4xf32>) -> !onnx.any
    func.return %y : !onnx.any
  }
}
