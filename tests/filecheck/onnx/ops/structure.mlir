// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK: builtin.module attributes {onnx.opsets = {"" = 17 : i64, com.acme = 1 : i64}}
builtin.module attributes {onnx.opsets = {"" = 17 : i64, com.acme = 1 : i64}} {
  // CHECK-LABEL: @absent
  func.func @absent(%x: tensor<4xf32>, %hi: tensor<f32>) -> tensor<4xf32> {
    // CHECK: "onnx.Clip"(%x, %hi) <{operandSegmentSizes = array<i32: 1, 0, 1>}>
    %y = "onnx.Clip"(%x, %hi) <{operandSegmentSizes = array<i32: 1, 0, 1>}>
        : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }

  // CHECK-LABEL: @call
  func.func @call(%x: tensor<4xf32>) -> !onnx.any {
    // CHECK: "onnx.Call"(%x) <{domain = "com.acme", op_type = "Mix", arguments = {alpha = 1.500000e+00 : f32}, absent = array<i64: 0>}>
    %y = "onnx.Call"(%x) <{
      domain = "com.acme", op_type = "Mix", arguments = {alpha = 1.5 : f32}, absent = array<i64: 0>
    }> : (tensor<4xf32>) -> !onnx.any
    func.return %y : !onnx.any
  }

  // CHECK-LABEL: @types
  // CHECK-SAME: !onnx.seq<tensor<?x3xf32, #graph.dims<["N", 3]>>>
  // CHECK-SAME: !onnx.optional<!onnx.seq<tensor<*xf32>>>
  // CHECK-SAME: !onnx.map<!onnx.string, tensor<2xi64>>
  // CHECK-SAME: !onnx.sparse<tensor<5x5xf64>>
  // CHECK-SAME: tensor<2x!onnx.string>
  func.func private @types(
    !onnx.seq<tensor<?x3xf32, #graph.dims<["N", 3]>>>, !onnx.optional<!onnx.seq<tensor<*xf32>>>,
    !onnx.map<!onnx.string, tensor<2xi64>>, !onnx.sparse<tensor<5x5xf64>>, tensor<2x!onnx.string>)

  // CHECK-LABEL: @branches
  func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: "onnx.If"(%c) ({
    // CHECK-NEXT: "onnx.Yield"(%x) <{outputs = ["r"]}> : (tensor<4xf32>) -> ()
    // CHECK-NEXT: }, {
    // CHECK-NEXT: "onnx.Constant"() <{value = #onnx.strings<["cat", "\FF"], tensor<2x!onnx.string>>}>
    %y = "onnx.If"(%c) ({
      "onnx.Yield"(%x) <{outputs = ["r"]}> : (tensor<4xf32>) -> ()
    }, {
      %names = "onnx.Constant"() <{value = #onnx.strings<["cat", "\FF"], tensor<2x!onnx.string>>}>
          : () -> tensor<2x!onnx.string>
      "onnx.Yield"(%x) <{outputs = ["r"]}> : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
