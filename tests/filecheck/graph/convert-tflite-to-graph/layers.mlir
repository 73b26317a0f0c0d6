// RUN: stepwell-opt %s -p convert-tflite-to-graph | filecheck %s

// Padding SAME of an odd number of cells has more at the end; filters are O, H, W, I.
// CHECK-LABEL: @conv
// CHECK: %[[Y:.*]] = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [0, 0, 1, 1] data_layout "NHWC" kernel_layout "OHWI"
// CHECK: %[[B:.*]] = graph.bias_add %[[Y]], %b axis 3
// CHECK: graph.relu %[[B]]
func.func @conv(%x: tensor<1x16x16x3xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8x8x8xf32> {
  %y = "tflite.conv_2d"(%x, %w, %b) {stride_w = 2 : i64, stride_h = 2 : i64, fused_activation_function = "RELU"} : (tensor<1x16x16x3xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  func.return %y : tensor<1x8x8x8xf32>
}
// Filters of 2 channels over 4 are two groups; those of a depthwise convolution have 1, H, W, O.
// CHECK-LABEL: @groups
// CHECK: graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 data_layout "NHWC" kernel_layout "OHWI"
// CHECK: graph.conv %x, %d strides [1, 1] dilations [1, 2] pads [1, 2, 1, 2] groups 4 data_layout "NHWC" kernel_layout "IHWO"
func.func @groups(%x: tensor<1x5x5x4xf32>, %w: tensor<6x1x1x2xf32>, %d: tensor<1x3x3x4xf32>) {
  %0 = "tflite.conv_2d"(%x, %w) {stride_w = 1 : i64, stride_h = 1 : i64, padding = "VALID"} : (tensor<1x5x5x4xf32>, tensor<6x1x1x2xf32>) -> tensor<1x5x5x6xf32>
  %1 = "tflite.depthwise_conv_2d"(%x, %d) {stride_w = 1 : i64, stride_h = 1 : i64, dilation_w_factor = 2 : i64} : (tensor<1x5x5x4xf32>, tensor<1x3x3x4xf32>) -> tensor<1x5x5x4xf32>
  func.return
}
// CHECK-LABEL: @pools
// CHECK: graph.pool %x kind "avg" kernel [2, 3] strides [2, 2] dilations [1, 1] pads [0, 1, 1, 1] data_layout "NHWC"
// CHECK: graph.pool %x kind "max" kernel [2, 2] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NHWC"
func.func @pools(%x: tensor<1x7x7x4xf32>) {
  %0 = "tflite.average_pool_2d"(%x) {stride_w = 2 : i64, stride_h = 2 : i64, filter_width = 3 : i64, filter_height = 2 : i64} : (tensor<1x7x7x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = "tflite.max_pool_2d"(%x) {padding = "VALID", stride_w = 1 : i64, stride_h = 1 : i64, filter_width = 2 : i64, filter_height = 2 : i64} : (tensor<1x7x7x4xf32>) -> tensor<1x6x6x4xf32>
  func.return
}
// The model records no size of the first dimension of %y: it is that of the relation, 2 * N.
// CHECK-LABEL: @dense
// CHECK: %[[F:.*]] = graph.reshape %x shape <["2 * N", 6]>
// CHECK: %[[T:.*]] = graph.transpose %w perm [1, 0]
// CHECK: graph.matmul %[[F]], %[[T]]
// CHECK: return %{{.*}} : tensor<?x5xf32, #graph.dims<["2 * N", 5]>>
func.func @dense(%x: tensor<?x2x6xf32, #graph.dims<["N", 2, 6]>>, %w: tensor<5x6xf32>) -> tensor<?x5xf32> {
  %y = "tflite.fully_connected"(%x, %w) : (tensor<?x2x6xf32, #graph.dims<["N", 2, 6]>>, tensor<5x6xf32>) -> tensor<?x5xf32>
  func.return %y : tensor<?x5xf32>
}
