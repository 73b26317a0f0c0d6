// RUN: stepwell-opt %s -p 'quantize-nodes{plan="%S/plan.json"}' --split-input-file --verify-diagnostics
// RUN: not stepwell-opt %S/quantize-nodes.mlir -p 'quantize-nodes{plan="%s"}' 2>&1 | filecheck %s

// CHECK: error[bad-data]: this is no plan of quantization

// expected-error@unknown: the plan quantizes a node 'b', which @main does not have
builtin.module {
  func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %w = "onnx.Constant"() <{value = dense<[[0.5, 2.0], [-1.27, 0.0]]> : tensor<2x2xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2x2xf32>
    %y = "onnx.MatMul"(%x, %w) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("a")
    func.return %y : tensor<4x2xf32>
  }
}

// -----

builtin.module {
  func.func @main(%x: tensor<4x2xf32>, %w: tensor<2x2xf32>) -> tensor<4x2xf32> {
    // expected-error@unknown: the plan quantizes operand 1 as a weight, and it is computed
    %y = "onnx.MatMul"(%x, %w) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32> loc("a")
    func.return %y : tensor<4x2xf32>
  }
}

// -----

builtin.module {
  func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
    // expected-error@unknown: the plan quantizes operand 1, and there are 1
    %y = "onnx.Relu"(%x) : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("a")
    func.return %y : tensor<4x2xf32>
  }
}

// -----

builtin.module {
  func.func @main(%x: tensor<4x2xf32>) -> tensor<4x3xf32> {
    %w = "onnx.Constant"() <{value = dense<1.0> : tensor<2x3xf32>}> {onnx.initializer, onnx.values = ["w"]} : () -> tensor<2x3xf32>
    // expected-error@unknown: 3 scales or zero points are expected, found 2
    %y = "onnx.MatMul"(%x, %w) : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32> loc("a")
    func.return %y : tensor<4x3xf32>
  }
}

// -----

// expected-error: a quantization plan needs a function @main, and the module has none
builtin.module {
}
