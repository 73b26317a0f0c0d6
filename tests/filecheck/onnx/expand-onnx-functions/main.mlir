// RUN: stepwell-opt %s -p expand-onnx-functions --split-input-file | filecheck %s

// The call's attribute wins over the function's default, and the op keeps the opset of the function.
// CHECK-LABEL: @main
builtin.module attributes {onnx.opsets = {"" = 18 : i64, local = 1 : i64}} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: %[[F:.*]] = "onnx.Constant"() <{value_float = 3.000000e+00 : f32}> {onnx.opset = 13 : i64}
    // CHECK-NEXT: %[[Y:.*]] = "onnx.Mul"(%x, %[[F]]) {onnx.values = ["y"], onnx.opset = 13 : i64}
    // CHECK-NEXT: func.return %[[Y]] : tensor<4xf32>
    %y = "onnx.Call"(%x) <{domain = "local", op_type = "Scale", arguments = {factor = 3.0 : f32}}>
        {onnx.values = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
  // CHECK-NOT: onnx.Function
  "onnx.Function"() <{
    sym_name = "local.Scale", domain = "local", op_type = "Scale",
    inputs = ["a"], attribute_names = [], defaults = {factor = 2.0 : f32}
  }> ({
  ^bb0(%a: !onnx.any):
    %f = "onnx.Constant"() {onnx.refs = {value_float = ["factor", "float"]}} : () -> !onnx.any
    %b = "onnx.Mul"(%a, %f) {onnx.values = ["b"]} : (!onnx.any, !onnx.any) -> !onnx.any
    "onnx.Yield"(%b) <{outputs = ["b"]}> : (!onnx.any) -> ()
  }) {onnx.opsets = {"" = 13 : i64}} : () -> ()
}

// -----

// An operator without a conversion of its own is replaced by the function of its schema.
// CHECK-LABEL: @window
func.func @window(%size: tensor<i64>) -> tensor<?xf32> {
  // CHECK-NOT: onnx.HannWindow
  // CHECK: "onnx.Range"
  // CHECK: "onnx.Cos"
  %y = "onnx.HannWindow"(%size) : (tensor<i64>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

// Other operators stay, though their schema has a function.
// CHECK-LABEL: @native
func.func @native(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: "onnx.HardSwish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = "onnx.HardSwish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
