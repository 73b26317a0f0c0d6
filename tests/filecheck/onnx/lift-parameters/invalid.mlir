// RUN: stepwell-opt %s -p 'lift-parameters{names=w1}' --split-input-file --verify-diagnostics

// expected-error: no initializer of floats has the name 'w1'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = "onnx.Constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2xf32>
  %y = "onnx.Mul"(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
