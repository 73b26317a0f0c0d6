// RUN: stepwell-opt %s -p convert-graph-to-onnx --split-input-file | filecheck %s

// CHECK-LABEL: @branches
// CHECK: "onnx.If"
// CHECK: "onnx.Neg"
// CHECK: "onnx.Identity"
// CHECK: "onnx.Yield"
// CHECK-NOT: graph.
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %n = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// The test is before the loop, and at the end of its body.
// CHECK-LABEL: @test_first
// CHECK: "onnx.Less"
// CHECK: "onnx.Loop"
// CHECK: "onnx.Add"
// CHECK: "onnx.Less"
// CHECK: "onnx.Yield"
// CHECK-NOT: graph.
func.func @test_first(%x: tensor<f32>, %most: tensor<f32>) -> tensor<f32> {
  %y = graph.while (%a = %x : tensor<f32>) -> (tensor<f32>) {
    %c = graph.less %a, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  } do (%b: tensor<f32>) {
    %d = graph.add %b, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %d : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// -----

// Checks go, and sizes from data come from the tensor that they are in.
// CHECK-LABEL: @sizes
// CHECK: "onnx.Reshape"
// CHECK: "onnx.Slice"
// CHECK: "onnx.Expand"
// CHECK-NOT: graph.assert
// CHECK-NOT: graph.check
// CHECK-NOT: graph.bind_sizes
func.func @sizes(%x: tensor<f32>, %s: tensor<1xi64>) -> tensor<?xf32, #graph.dims<["M"]>> {
  %m = graph.bind_sizes %s names ["M"] : tensor<1xi64> -> index
  graph.assert "M" equals "M", "never"
  graph.check_indices %s within <["M"]> : tensor<1xi64>
  graph.check_offsets <["M"]> up_to <["M"]>
  %y = graph.broadcast_to %x shape <["M"]> : tensor<f32> -> tensor<?xf32, #graph.dims<["M"]>>
  func.return %y : tensor<?xf32, #graph.dims<["M"]>>
}
