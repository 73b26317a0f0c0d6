// RUN: not stepwell-opt %s -p 'scale-channels{factors="%s"}' 2>&1 | filecheck %s --check-prefix JSON
// RUN: not stepwell-opt %s -p 'scale-channels{factors="%S/factors.json"}' 2>&1 | filecheck %s --check-prefix NODE
// RUN: not stepwell-opt %s -p 'scale-channels{factors="%S/factors-size.json"}' 2>&1 | filecheck %s --check-prefix SIZE
// RUN: not stepwell-opt %s -p 'scale-channels{factors="%S/factors-one.json"}' 2>&1 | filecheck %s --check-prefix ONE
// RUN: not stepwell-opt %s -p 'scale-channels{factors="%S/factors-sign.json"}' 2>&1 | filecheck %s --check-prefix SIGN

// JSON: error[bad-data]: this is no file of channel factors
// NODE: error[bad-data]: @main has no node 'd'
// SIZE: error[bad-data]: 2 factors are expected, found 3
// ONE: error[bad-data]: products of one activation need the same factors: a, b
// SIGN: error[bad-data]: this is no file of channel factors: a factor is a positive number, found 0
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
    %w = "onnx.Constant"() <{value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2x2xf32>
    %n = "onnx.MatMul"(%x, %w) {onnx.values = ["n"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("e")
    %a = "onnx.MatMul"(%n, %w) {onnx.values = ["a"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("a")
    %b = "onnx.MatMul"(%n, %w) {onnx.values = ["b"]} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("b")
    func.return %a, %b : tensor<4x2xf32>, tensor<4x2xf32>
  }
}
