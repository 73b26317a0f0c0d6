// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

builtin.module attributes {onnx.opsets = {"" = 27 : i64}} {
  // What comes before the input is padded; the convolution itself has no pads.
  // CHECK-LABEL: func.func @causal
  // CHECK: %[[JOINED:.*]] = graph.pad %x pads <[0, 0, 3, 0, 0, 0]> {{.*}} -> tensor<2x3x8xf32>
  // CHECK: graph.conv %[[JOINED]], %w strides [1] dilations [1] pads [0, 0] groups 3 {{.*}} -> tensor<2x3x5xf32>
  func.func @causal(%x: tensor<2x3x5xf32>, %w: tensor<3x1x4xf32>) {
    %0, %1 = "onnx.CausalConvWithState"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x3x5xf32>, tensor<3x1x4xf32>) -> (!onnx.any, !onnx.any)
    func.return
  }
  // The filters' channels are those of the input, by the number of groups.
  // CHECK-LABEL: func.func @open_filters
  // CHECK: graph.conv %x, {{.*}} groups 2 : (tensor<2x6x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x3x3xf32>
  func.func @open_filters(%x: tensor<2x6x5x5xf32>, %w: tensor<4x?x?x?xf32>) {
    %0 = "onnx.Conv"(%x, %w) <{group = 2 : i64, kernel_shape = array<i64: 3, 3>}> : (tensor<2x6x5x5xf32>, tensor<4x?x?x?xf32>) -> !onnx.any
    func.return
  }
}
