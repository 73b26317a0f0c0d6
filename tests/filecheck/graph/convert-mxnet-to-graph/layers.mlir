// RUN: stepwell-opt %s -p convert-mxnet-to-graph | filecheck %s

// CHECK-LABEL: func.func @layers
// CHECK-SAME: -> (tensor<?x4x3x3xf32, #graph.dims<["N", 4, 3, 3]>>, tensor<?x2xf32, #graph.dims<["N", 2]>>)
func.func @layers(%x: tensor<?x3x7x7xf32, #graph.dims<["N", 3, 7, 7]>>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %d: tensor<2x147xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  // CHECK: %[[C:.*]] = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0]
  // CHECK-NEXT: graph.bias_add %[[C]], %b axis 1
  %y = "mxnet.Convolution"(%x, %w, %b) {kernel = [3, 3], stride = [2, 2], num_filter = 4} : (tensor<?x3x7x7xf32, #graph.dims<["N", 3, 7, 7]>>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<*xf32>
  // All axes but the first are one.
  // CHECK: %[[R:.*]] = graph.reshape %x shape <["N", 147]>
  // CHECK: graph.matmul %[[R]], %{{.*}}
  // CHECK-NOT: mxnet.
  %z = "mxnet.FullyConnected"(%x, %d) {num_hidden = 2, no_bias = true} : (tensor<?x3x7x7xf32, #graph.dims<["N", 3, 7, 7]>>, tensor<2x147xf32>) -> tensor<*xf32>
  func.return %y, %z : tensor<*xf32>, tensor<*xf32>
}
// A fixed scale is 1, whatever the file has.
// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<1x2x4xf32>, %g: tensor<2xf32>) -> tensor<*xf32> {
  // CHECK: graph.batch_norm %x mean %g variance %g bias %g
  // CHECK-NOT: scale
  %y = "mxnet.BatchNorm"(%x, %g, %g, %g, %g) : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
// Codes of a reshape: -3 joins two axes, -4 splits one, -2 is all that is left.
// CHECK-LABEL: func.func @codes
func.func @codes(%x: tensor<2x3x4x5xf32>) -> tensor<*xf32> {
  // CHECK: graph.reshape %x shape <[6, 2, 2, 5]>
  %y = "mxnet.Reshape"(%x) {shape = [-3, -4, 2, -1, -2]} : (tensor<2x3x4x5xf32>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
