// RUN: stepwell-opt %s -p convert-onnx-to-graph | filecheck %s

// The padding is cut off, at the strides of both axes.
// CHECK-LABEL: func.func @unpool
// CHECK: %[[FLAT:.*]] = graph.scatter_elements {{.*}} -> tensor<12xf32>
// CHECK: graph.reshape %[[FLAT]] shape <[1, 1, 4, 3]>
func.func @unpool(%x: tensor<1x1x2x2xf32>, %i: tensor<1x1x2x2xi64>) {
  %0 = "onnx.MaxUnpool"(%x, %i) <{kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 3>, pads = array<i64: 0, 1, 0, 1>}> : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>) -> !onnx.any
  func.return
}
