// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file | filecheck %s

// An operator means what it means at the opset of the model.

// Below opset 7 `axis` places the second operand.
builtin.module attributes {onnx.opsets = {"" = 6 : i64}} {
  // CHECK-LABEL: func.func @placed
  func.func @placed(%x: tensor<2x3x4xf32>, %b: tensor<3xf32>) {
    // CHECK: %[[B:.*]] = graph.expand_dims %b axes [1] : tensor<3xf32> -> tensor<3x1xf32>
    // CHECK: graph.add %x, %[[B]] : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
    %0 = "onnx.Add"(%x, %b) <{axis = 1 : i64, broadcast = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    // An attribute that the model does not give is no bound.
    // CHECK: graph.clip %x lo %{{.*}} : tensor<f32> : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %1 = "onnx.Clip"(%x) <{min = 0.0 : f32, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    func.return
  }
}
// -----
// Below opset 13 softmax sees a matrix.
builtin.module attributes {onnx.opsets = {"" = 11 : i64}} {
  // CHECK-LABEL: func.func @matrix
  func.func @matrix(%x: tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) {
    // CHECK: %[[M:.*]] = graph.reshape %x {{.*}} -> tensor<?x12xf32, #graph.dims<["N", 12]>>
    // CHECK: %[[S:.*]] = graph.softmax %[[M]] axis 1
    // CHECK: graph.reshape %[[S]] {{.*}} -> tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>
    %0 = "onnx.Softmax"(%x) : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<*xf32>
    // CHECK: graph.softmax %x axis 2
    %1 = "onnx.Softmax"(%x) <{axis = 2 : i64}> : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<*xf32>
    // CHECK: graph.reduce %x kind "sum" axes [0, 1, 2] keep_dims true
    %2 = "onnx.ReduceSum"(%x) : (tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>) -> tensor<*xf32>
    func.return
  }
}
// -----
builtin.module attributes {onnx.opsets = {"" = 18 : i64}} {
  // CHECK-LABEL: func.func @newest
  func.func @newest(%x: tensor<2x3x4xf32>) {
    // CHECK: graph.softmax %x axis 2
    %0 = "onnx.Softmax"(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: graph.reduce %x kind "sum_square" axes [] keep_dims true
    %1 = "onnx.ReduceSumSquare"(%x) <{noop_with_empty_axes = 1 : i64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: graph.reduce %x kind "max" axes [2] keep_dims false
    %axes = "onnx.Constant"() <{value_ints = array<i64: -1>}> : () -> tensor<1xi64>
    %2 = "onnx.ReduceMax"(%x, %axes) <{keepdims = 0 : i64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3xf32>
    func.return
  }
}
