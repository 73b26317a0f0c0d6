// RUN: stepwell-opt %s -p expand-onnx-functions --split-input-file --verify-diagnostics

// Functions that call themselves.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "onnx.Call"(%x) <{domain = "local", op_type = "F", arguments = {}}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"onnx.Function"() <{
  sym_name = "local.F", domain = "local", op_type = "F", inputs = ["a"], attribute_names = [], defaults = {}
}> ({
^bb0(%a: !onnx.any):
  // expected-error: functions call each other: local.F -> local.F
  %b = "onnx.Call"(%a) <{domain = "local", op_type = "F", arguments = {}}> : (!onnx.any) -> !onnx.any
  "onnx.Yield"(%b) <{outputs = ["b"]}> : (!onnx.any) -> ()
}) {onnx.opsets = {"" = 18 : i64}} : () -> ()

// -----

// A body that depends on types, where nothing says them.
func.func @rotary(%x: !onnx.any, %c: !onnx.any, %s: !onnx.any) -> !onnx.any {
  // expected-error: RotaryEmbedding is defined by a function of its inputs' types
  %y = "onnx.RotaryEmbedding"(%x, %c, %s) : (!onnx.any, !onnx.any, !onnx.any) -> !onnx.any
  func.return %y : !onnx.any
}
