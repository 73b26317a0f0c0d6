// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file | filecheck %s

builtin.module attributes {onnx.opsets = {"" = 18 : i64}} {
  // CHECK-LABEL: func.func @norms
  func.func @norms(%x: tensor<2x6x4xf32>, %c: tensor<6xf32>, %g: tensor<2xf32>, %r: tensor<4xf32>) {
    // CHECK: graph.batch_norm %x mean %c variance %c scale %c bias %c eps {{.*}} axis 1
    %0 = "onnx.BatchNormalization"(%x, %c, %c, %c, %c) <{resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
    // CHECK: graph.layer_norm %x scale %r : tensor<4xf32> axis 2 eps {{.*}} compute_type f32 : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
    %1 = "onnx.LayerNormalization"(%x, %r) <{resultSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<2x6x4xf32>, tensor<4xf32>) -> tensor<2x6x4xf32>
    // The inverse deviation alone: both statistics are made.
    // CHECK: graph.layer_norm {{.*}} -> tensor<2x6x4xf32>, tensor<2x6x1xf32>, tensor<2x6x1xf32>
    %2, %3 = "onnx.LayerNormalization"(%x, %r) <{resultSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<2x6x4xf32>, tensor<4xf32>) -> (tensor<2x6x4xf32>, tensor<2x6x1xf32>)
    // Below opset 21 scale and bias are one a group: each is repeated for the channels of its group.
    // CHECK: %[[COLUMN:.*]] = graph.expand_dims %g axes [1] : tensor<2xf32> -> tensor<2x1xf32>
    // CHECK: %[[ROWS:.*]] = graph.broadcast_to %[[COLUMN]] {{.*}} -> tensor<2x3xf32>
    // CHECK: graph.reshape %[[ROWS]] {{.*}} -> tensor<6xf32>
    // CHECK: graph.group_norm %x {{.*}} groups 2
    %4 = "onnx.GroupNormalization"(%x, %g, %g) <{num_groups = 2 : i64}> : (tensor<2x6x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x6x4xf32>
    // CHECK: graph.lrn %x size 3
    %5 = "onnx.LRN"(%x) <{size = 3 : i64}> : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    // CHECK: graph.instance_norm %x scale %c : tensor<6xf32> bias %c : tensor<6xf32>
    %6 = "onnx.InstanceNormalization"(%x, %c, %c) : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
    // CHECK: func.return
    func.return
  }
}
// -----
// Statistics of another type are converted to that of the mean; `spatial = 0` has one for each element of a sample.
builtin.module attributes {onnx.opsets = {"" = 7 : i64}} {
  // CHECK-LABEL: func.func @not_spatial
  func.func @not_spatial(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>) {
    // CHECK: %[[X:.*]] = graph.reshape %x {{.*}} -> tensor<2x12xf32>
    // CHECK: graph.batch_norm %[[X]] {{.*}} axis 1 : (tensor<2x12xf32>, tensor<12xf32>) -> tensor<2x12xf32>
    // CHECK: graph.reshape {{.*}} -> tensor<2x3x4xf32>
    %0 = "onnx.BatchNormalization"(%x, %s, %s, %s, %s) <{spatial = 0 : i64, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
    func.return
  }
}
