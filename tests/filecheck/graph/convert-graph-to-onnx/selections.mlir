// RUN: stepwell-opt %s -p convert-graph-to-onnx | filecheck %s

// The rows of a selection are the operator's own: nothing is scattered out of them and joined again.
// CHECK-LABEL: @rows_of_a_selection
// CHECK: "onnx.NonMaxSuppression"
// CHECK-NOT: onnx.ScatterND
// CHECK: func.return
func.func @rows_of_a_selection(%b: tensor<1x9x4xf32>, %s: tensor<1x2x9xf32>, %t: tensor<f32>)
    -> tensor<?x3xi64, #graph.dims<["K", 3]>> {
  %chosen, %counts = graph.non_max_suppression %b, %s overlap %t most <[3]> center false
    : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<f32>) -> (tensor<1x2x3xi64>, tensor<1x2xi64>)
  %n = graph.reduce %counts kind "sum" axes [0, 1] keep_dims false : tensor<1x2xi64> -> tensor<i64>
  %r = graph.reshape %n shape <[1]> : tensor<i64> -> tensor<1xi64>
  %k = graph.bind_sizes %r names ["K"] : tensor<1xi64> -> index
  %y = graph.join_parts %chosen, %counts size <["K"]>
    : (tensor<1x2x3xi64>, tensor<1x2xi64>) -> tensor<?x3xi64, #graph.dims<["K", 3]>>
  func.return %y : tensor<?x3xi64, #graph.dims<["K", 3]>>
}

// CHECK-LABEL: @host
// CHECK: "onnx.StringConcat"(%x, %x)
func.func @host(%x: tensor<2x!onnx.string>) -> tensor<2x!onnx.string> {
  %y = graph.host_call "numpy" "host.string_concat" payload "{\"op\": \"host.string_concat\", \"attributes\": {}}" (%x, %x)
    : (tensor<2x!onnx.string>, tensor<2x!onnx.string>) -> tensor<2x!onnx.string>
  func.return %y : tensor<2x!onnx.string>
}

// CHECK-LABEL: @running_product
// CHECK: "onnx.Scan"
// CHECK: "onnx.Mul"
func.func @running_product(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = graph.scan %x kind "prod" axis 1 exclusive false reverse true : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
