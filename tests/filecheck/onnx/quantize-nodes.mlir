// RUN: stepwell-opt %s -p 'quantize-nodes{plan="%S/plan.json"}' | filecheck %s

// The result of `a` is quantized for all of its readers, once; both nodes read one weight; the output stays.
// CHECK-DAG: %[[W:.*]] = "onnx.Constant"() <{value = dense<{{\[\[}}50, 2], [-127, 0]]> : tensor<2x2xi8>}> {onnx.initializer, onnx.values = ["w_quantized"]}
// CHECK-DAG: %[[T:.*]] = "onnx.Constant"() {{.*}} {onnx.initializer, onnx.values = ["w_scale"]}
// CHECK-DAG: %[[S:.*]] = "onnx.Constant"() <{value = dense<5.000000e-01> : tensor<f32>}> {onnx.initializer, onnx.values = ["x_scale"]}
// CHECK-DAG: %[[Z:.*]] = "onnx.Constant"() <{value = dense<3> : tensor<ui8>}> {onnx.initializer, onnx.values = ["x_zero_point"]}
// CHECK-NOT: onnx.values = ["w"]
// CHECK: %[[Q:.*]] = "onnx.QuantizeLinear"(%x, %[[S]], %[[Z]]) {onnx.values = ["x_quantized"], onnx.node = "x_quantized"}
// CHECK: %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]], %[[S]], %[[Z]]) {onnx.values = ["x_dequantized"], onnx.node = "x_dequantized"}
// CHECK: %[[V:.*]] = "onnx.DequantizeLinear"(%[[W]], %[[T]]) <{axis = 1 : i64}> {onnx.values = ["w_dequantized"], onnx.node = "w_dequantized"}
// CHECK: %[[Y:.*]] = "onnx.MatMul"(%[[D]], %[[V]])
// CHECK: %[[YQ:.*]] = "onnx.QuantizeLinear"(%[[Y]],
// CHECK: %[[YD:.*]] = "onnx.DequantizeLinear"(%[[YQ]],
// CHECK: %[[P:.*]] = "onnx.MatMul"(%[[YD]], %[[V]])
// CHECK: %[[R:.*]] = "onnx.Softmax"(%[[YD]])
// CHECK: func.return %[[Y]], %[[P]], %[[R]]
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {graph.name = "x"}) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
    %w = "onnx.Constant"() <{value = dense<[[0.5, 2.0], [-1.27, 0.0]]> : tensor<2x2xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2x2xf32>
    %y = "onnx.MatMul"(%x, %w) {onnx.values = ["y"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("a")
    %z = "onnx.MatMul"(%y, %w) {onnx.values = ["z"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("b")
    %r = "onnx.Softmax"(%y) {onnx.values = ["r"]} : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("c")
    func.return %y, %z, %r : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
}
