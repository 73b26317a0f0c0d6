// RUN: stepwell-opt %s -p lift-parameters --split-input-file | filecheck %s --check-prefixes=CHECK,ALL
// RUN: stepwell-opt %s -p 'lift-parameters{names=w,"*cale"}' --split-input-file | filecheck %s --check-prefixes=CHECK,SOME

// Initializers of floats are arguments before the inputs; integers and constants of nodes stay.
// CHECK-LABEL: func.func @main(
// ALL-SAME: %w: tensor<2xf32> {graph.name = "w", graph.state = "w", graph.initial = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}, %b: tensor<2xf32> {graph.name = "b", graph.state = "b", graph.initial = dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>}, %x: tensor<2xf32> {graph.name = "x"})
// SOME-SAME: %w: tensor<2xf32> {graph.name = "w", graph.state = "w", graph.initial = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}, %scale: tensor<f32> {graph.name = "scale", graph.state = "scale", graph.initial = dense<5.000000e+00> : tensor<f32>}, %x: tensor<2xf32> {graph.name = "x"})
// ALL-NOT: onnx.values = ["w"]
// ALL: onnx.values = ["scale"]
// SOME: onnx.values = ["b"]
// CHECK: onnx.values = ["axes"]
// CHECK: onnx.values = ["c"]
// CHECK: "onnx.Mul"(%x, %w)
func.func @main(%x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}) {
  %w = "onnx.Constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2xf32>
  %b = "onnx.Constant"() <{value = dense<[3.0, 4.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["b"]} : () -> tensor<2xf32>
  %scale = "onnx.Constant"() <{value = dense<5.0> : tensor<f32>}> {onnx.initializer, onnx.values = ["scale"]} : () -> tensor<f32>
  %axes = "onnx.Constant"() <{value = dense<[0, 1]> : tensor<2xi64>}> {onnx.initializer, onnx.values = ["axes"]} : () -> tensor<2xi64>
  %c = "onnx.Constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {onnx.values = ["c"]} : () -> tensor<2xf32>
  %p = "onnx.Mul"(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %q = "onnx.Add"(%p, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = "onnx.Mul"(%q, %scale) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
