// RUN: stepwell-opt %s -p convert-paddle-to-graph | filecheck %s

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x3x4x4xf32>, tensor<1x3x1x1xf32>) {
  // Two pads are for both sides of their axis, four alternate.
  // CHECK: graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1]
  %y = "paddle.conv2d"(%x, %w) {strides = [2, 2], paddings = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %k = "paddle.full_int_array"() {value = [2, 2]} : () -> tensor<2xi64>
  // CHECK: graph.pool %x kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 1, 1] count_include_pad true
  %p = "paddle.pool2d"(%x, %k) {strides = [2, 2], paddings = [0, 1, 0, 1], exclusive = false, pooling_type = "avg"} : (tensor<1x3x8x8xf32>, tensor<2xi64>) -> tensor<1x3x4x4xf32>
  %one = "paddle.full_int_array"() {value = [1, 1]} : () -> tensor<2xi64>
  // CHECK: graph.reduce %x kind "mean" axes [2, 3] keep_dims true
  %q = "paddle.pool2d"(%x, %one) {strides = [1, 1], paddings = [0, 0], pooling_type = "avg", adaptive = true} : (tensor<1x3x8x8xf32>, tensor<2xi64>) -> tensor<1x3x1x1xf32>
  func.return %y, %p, %q : tensor<1x4x4x4xf32>, tensor<1x3x4x4xf32>, tensor<1x3x1x1xf32>
}
// 0 keeps a size; a negative start counts from the end, and the axis of one position goes.
// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<?x6xf32, #graph.dims<["N", 6]>>) -> tensor<?x2xf32> {
  %s = "paddle.full_int_array"() {value = [0, 3, -1]} : () -> tensor<3xi64>
  // CHECK: %[[R:.*]] = graph.reshape %x shape <["N", 3, 2]>
  %r = "paddle.reshape"(%x, %s) : (tensor<?x6xf32, #graph.dims<["N", 6]>>, tensor<3xi64>) -> tensor<?x3x2xf32>
  %b = "paddle.full_int_array"() {value = [-1]} : () -> tensor<1xi64>
  %e = "paddle.full_int_array"() {value = [2147483647]} : () -> tensor<1xi64>
  // CHECK: %[[S:.*]] = graph.slice %[[R]] starts <[0, 2, 0]> limits <["N", 3, 2]> steps [1, 1, 1]
  // CHECK-NEXT: graph.squeeze %[[S]] axes [1]
  // CHECK-NOT: paddle.
  %y = "paddle.slice"(%r, %b, %e) {axes = [1], decrease_axis = [1]} : (tensor<?x3x2xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x2xf32>
  func.return %y : tensor<?x2xf32>
}
