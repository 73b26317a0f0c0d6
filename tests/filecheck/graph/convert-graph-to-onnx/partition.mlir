// RUN: stepwell-opt %s -p convert-graph-to-onnx | filecheck %s

// A composite is opened, sizes of symbols come from the shapes of the arguments.
// CHECK: builtin.module attributes {onnx.opsets = {"" = 21 : i64}}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>, %w: tensor<4x8xf32>)
    -> tensor<?xf32, #graph.dims<["8 * N"]>> {
  // CHECK-NEXT: [[Y:%.*]] = "onnx.MatMul"(%x, %w)
  %y = graph.matmul %x, %w : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<4x8xf32>)
    -> tensor<?x8xf32, #graph.dims<["N", 8]>>
  // CHECK-NEXT: [[R:%.*]] = "onnx.Relu"([[Y]])
  %c = graph.composite (%a = %y : tensor<?x8xf32, #graph.dims<["N", 8]>>)
      -> (tensor<?x8xf32, #graph.dims<["N", 8]>>) attributes {ops = "relu_"} {
    %r = graph.relu %a : tensor<?x8xf32, #graph.dims<["N", 8]>> -> tensor<?x8xf32, #graph.dims<["N", 8]>>
    graph.yield %r : tensor<?x8xf32, #graph.dims<["N", 8]>>
  }
  // CHECK-NEXT: [[N:%.*]] = "onnx.Shape"(%x) <{start = 0 : i64, end = 1 : i64}>
  // CHECK-NEXT: [[EIGHT:%.*]] = "onnx.Constant"() <{value = dense<8> : tensor<1xi64>}>
  // CHECK-NEXT: [[SIZE:%.*]] = "onnx.Mul"([[N]], [[EIGHT]])
  // CHECK-NEXT: "onnx.Reshape"([[R]], [[SIZE]]) <{allowzero = 1 : i64}>
  %z = graph.reshape %c shape <["8 * N"]>
    : tensor<?x8xf32, #graph.dims<["N", 8]>> -> tensor<?xf32, #graph.dims<["8 * N"]>>
  func.return %z : tensor<?xf32, #graph.dims<["8 * N"]>>
}

// Tuples go, a limit below the start is written so that ONNX does not count it from the end.
// CHECK-LABEL: func.func @fields
func.func @fields(%x: tensor<4xf32>, %y: tensor<3xi64>) -> tensor<4xf32> {
  %t = graph.tuple %y, %x : tensor<3xi64>, tensor<4xf32>
  %b = graph.get %t [1] : tuple<tensor<3xi64>, tensor<4xf32>> -> tensor<4xf32>
  // CHECK-NEXT: dense<3>
  // CHECK-NEXT: dense<-9223372036854775808>
  // CHECK: "onnx.Slice"(%x,
  %r = graph.slice %b starts <[3]> limits <[-1]> steps [-1] : tensor<4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// A 0 in the shape is a size of 0, not that of the operand.
// CHECK-LABEL: func.func @counted
func.func @counted() -> tensor<3x4xi32> {
  // CHECK: "onnx.Range"
  // CHECK: dense<[1, 4]>
  // CHECK-NEXT: "onnx.Reshape"({{.*}}) <{allowzero = 1 : i64}>
  // CHECK: dense<[3, 4]>
  // CHECK-NEXT: "onnx.Expand"
  %y = graph.iota shape <[3, 4]> axis 1 of i32 -> tensor<3x4xi32>
  func.return %y : tensor<3x4xi32>
}
