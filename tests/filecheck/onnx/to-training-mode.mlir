// RUN: stepwell-opt %s -p lift-parameters,to-training-mode --split-input-file | filecheck %s --check-prefixes=CHECK,MARKED
// RUN: stepwell-opt %s -p 'lift-parameters,to-training-mode{nodes=all seed=7}' --split-input-file | filecheck %s --check-prefixes=CHECK,ALL
// RUN: stepwell-opt %s -p 'lift-parameters,to-training-mode{nodes=none}' --split-input-file | filecheck %s --check-prefixes=CHECK,NONE

// Statistics become states after the parameters, and results; a second node with the same ones goes on from the first.
// CHECK-LABEL: func.func @main(%s: tensor<2xf32>
// MARKED-SAME: -> (tensor<4x2xf32> {graph.name = "y"})
// ALL-SAME: %m: tensor<2xf32> {graph.name = "m", graph.state = "m", graph.initial = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}, %v: tensor<2xf32> {graph.name = "v", graph.state = "v", graph.initial = dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>}, %x: tensor<4x2xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}, tensor<2xf32> {graph.name = "m", graph.state = "m"}, tensor<2xf32> {graph.name = "v", graph.state = "v"})
// ALL: %h, %[[M:[a-z0-9_]+]], %[[V:[a-z0-9_]+]] = "onnx.BatchNormalization"(%x, %s, %b, %m, %v) <{momentum = 5.000000e-01 : f32, training_mode = 1 : i64
// ALL-SAME: onnx.opset = 15
// ALL: %y, %[[N:[a-z0-9_]+]], %[[W:[a-z0-9_]+]] = "onnx.BatchNormalization"(%h, %s, %b, %[[M]], %[[V]])
// ALL: func.return %y, %[[N]], %[[W]]
// NONE-NOT: training_mode
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {graph.name = "x"}) -> (tensor<4x2xf32> {graph.name = "y"}) {
    %s = "onnx.Constant"() <{value = dense<[1.0, 1.5]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["s"]} : () -> tensor<2xf32>
    %b = "onnx.Constant"() <{value = dense<[0.0, 1.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["b"]} : () -> tensor<2xf32>
    %m = "onnx.Constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["m"]} : () -> tensor<2xf32>
    %v = "onnx.Constant"() <{value = dense<[3.0, 4.0]> : tensor<2xf32>}> {onnx.initializer, onnx.values = ["v"]} : () -> tensor<2xf32>
    %h = "onnx.BatchNormalization"(%x, %s, %b, %m, %v) <{momentum = 5.0e-01 : f32, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.values = ["h"]} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    %y = "onnx.BatchNormalization"(%h, %s, %b, %m, %v) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> {onnx.values = ["y"]} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    func.return %y : tensor<4x2xf32>
  }
}

// -----

// A dropout keeps its own seed and ratio; below opset 12 the ratio is an attribute. A mode that is data stays.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32>
// MARKED: %[[ON:[0-9]+]] = "onnx.Constant"() <{value = dense<true> : tensor<i1>}>
// MARKED: "onnx.Dropout"(%x, %r, %[[ON]]) <{seed = 3 : i64
// MARKED: %[[OFF:.*]] = "onnx.Constant"() <{value = dense<false> : tensor<i1>}>
// MARKED: "onnx.Dropout"(%a, %{{.*}}, %[[OFF]]) <{seed = 0 : i64
// ALL: %[[RATIO:.*]] = "onnx.Constant"() <{value = dense<5.000000e-01> : tensor<f32>}>
// ALL: %[[ON:.*]] = "onnx.Constant"() <{value = dense<true> : tensor<i1>}>
// ALL: "onnx.Dropout"(%a, %[[RATIO]], %[[ON]]) <{seed = 7 : i64
// NONE: %[[OFF:.*]] = "onnx.Constant"() <{value = dense<false> : tensor<i1>}>
// NONE: "onnx.Dropout"(%x, %r, %[[OFF]]) <{seed = 3 : i64
// CHECK: "onnx.Dropout"(%c, %r, %mode)
builtin.module attributes {onnx.opsets = {"" = 17 : i64}} {
  func.func @main(%x: tensor<4xf32> {graph.name = "x"}, %mode: tensor<i1>) -> (tensor<4xf32> {graph.name = "y"}) {
    %r = "onnx.Constant"() <{value = dense<2.5e-01> : tensor<f32>}> {onnx.initializer, onnx.values = ["r"]} : () -> tensor<f32>
    %t = "onnx.Constant"() <{value = dense<true> : tensor<i1>}> {onnx.initializer, onnx.values = ["t"]} : () -> tensor<i1>
    %a = "onnx.Dropout"(%x, %r, %t) <{seed = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
    %c = "onnx.Dropout"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    %y = "onnx.Dropout"(%c, %r, %mode) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
