// RUN: stepwell-opt %s --load %S/operators.py -p convert-onnx-to-graph | filecheck %s
// RUN: stepwell-opt %s --load %S/operators.py -p convert-onnx-to-graph,convert-plugins-to-graph | filecheck %s --check-prefix=LOWERED

module attributes {onnx.opsets = {"" = 18 : i64, "check.functions" = 2 : i64}} {
  // CHECK-LABEL: @cube
  // CHECK: %[[SCALE:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
  // CHECK: %[[SQUARE:.*]] = graph.multiply %x, %x : {{.*}} -> tensor<?x4xf32, #graph.dims<["N", 4]>>
  // CHECK: %[[CUBE:.*]] = graph.multiply %[[SQUARE]], %x
  // CHECK: %y = graph.multiply %[[CUBE]], %[[SCALE]]
  func.func @cube(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<?x4xf32> {
    %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Cube", arguments = {scale = 2.0 : f32}}> : (tensor<?x4xf32, #graph.dims<["N", 4]>>) -> !onnx.any
    %z = "onnx.Relu"(%y) : (!onnx.any) -> tensor<?x4xf32>
    func.return %z : tensor<?x4xf32>
  }

  // The opset of an op that came out of a function is its own.
  // CHECK-LABEL: @newer
  // CHECK-NOT: graph.constant
  // CHECK: graph.multiply %x, %x
  func.func @newer(%x: tensor<4xf32>) -> !onnx.any {
    %y = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Cube", arguments = {}}> {onnx.opset = 3 : i64} : (tensor<4xf32>) -> !onnx.any
    func.return %y : !onnx.any
  }

  // CHECK-LABEL: @outputs
  // CHECK-NOT: graph.add
  // CHECK: %[[N:.*]] = graph.constant dense<4> : tensor<i64>
  // CHECK: %[[Y:.*]] = graph.softmax %x axis 1
  // CHECK: func.return %[[Y]], %[[N]]
  func.func @outputs(%x: tensor<3x4xf32>) -> (!onnx.any, !onnx.any) {
    %y, %n = "onnx.Call"(%x) <{domain = "check.functions", op_type = "Norm", arguments = {axis = -1 : i64}, absent = array<i64: 1>}> : (tensor<3x4xf32>) -> (!onnx.any, !onnx.any)
    func.return %y, %n : !onnx.any, !onnx.any
  }

  // The first output is not used.
  // CHECK-LABEL: @absent_output
  // CHECK: %[[N:.*]] = graph.constant dense<4> : tensor<i64>
  // CHECK: func.return %[[N]]
  func.func @absent_output(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> !onnx.any {
    %n = "onnx.Call"(%x, %b) <{domain = "check.functions", op_type = "Norm", arguments = {axis = 1 : i64}, absent_outputs = array<i64: 0>}> : (tensor<3x4xf32>, tensor<4xf32>) -> !onnx.any
    func.return %n : !onnx.any
  }

  // CHECK-LABEL: @constants
  // CHECK: %[[SUM:.*]] = graph.constant dense<3.000000e+00> : tensor<f32>
  // CHECK: %[[TWO:.*]] = graph.add %x, %x
  // CHECK: graph.add %[[TWO]], %[[SUM]]
  func.func @constants(%x: tensor<4xf32>) -> !onnx.any {
    %one = "onnx.Constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %two = "onnx.Constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
    %y = "onnx.Call"(%x, %x, %one, %two) <{domain = "check.functions", op_type = "Sum", arguments = {}}> : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> !onnx.any
    func.return %y : !onnx.any
  }

  // An op of a dialect stays, until its lowering runs.
  // CHECK-LABEL: @dialect
  // CHECK: %y = "operated.shift"(%x) <{number = 7 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %z = "operated.shift"(%y, %x) <{number = 1 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: graph.relu %z
  // LOWERED-LABEL: @dialect
  // LOWERED: %[[SEVEN:.*]] = graph.constant dense<7.000000e+00> : tensor<f32>
  // LOWERED: %[[Y:.*]] = graph.add %x, %[[SEVEN]]
  // LOWERED: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
  // LOWERED: %[[BY:.*]] = graph.add %[[Y]], %x
  // LOWERED: %[[Z:.*]] = graph.add %[[BY]], %[[ONE]]
  // LOWERED: graph.relu %[[Z]]
  func.func @dialect(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = "onnx.Call"(%x) <{domain = "check.ops", op_type = "Shift", arguments = {number = 7 : i64}}> : (tensor<4xf32>) -> !onnx.any
    %z = "onnx.Call"(%y, %x) <{domain = "check.ops", op_type = "Shift", arguments = {}}> : (!onnx.any, tensor<4xf32>) -> !onnx.any
    %r = "onnx.Relu"(%z) : (!onnx.any) -> tensor<4xf32>
    func.return %r : tensor<4xf32>
  }

  // CHECK-LABEL: @pattern
  // CHECK: %y = graph.neg %x
  func.func @pattern(%x: tensor<4xf32>) -> !onnx.any {
    %y = "onnx.Call"(%x) <{domain = "check.patterns", op_type = "Branch", arguments = {}, graphs = ["body"]}> ({
      %a = "onnx.Constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
      "onnx.Yield"(%a) <{outputs = ["a"]}> : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> !onnx.any
    func.return %y : !onnx.any
  }
}
