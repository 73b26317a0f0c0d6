// RUN: stepwell-opt %s -p convert-torch-to-graph | filecheck %s

// Of 8 cells three windows of stride 3 reach 9 with the padding; the two results that are asked for.
// CHECK-LABEL: @conv
// CHECK-DAG: %dx = graph.conv_transpose %dy, %w strides [2] dilations [1] pads [1, 1] output_padding [1]
// CHECK-DAG: %[[MX:.*]] = graph.transpose %x perm [1, 0, 2]
// CHECK-DAG: %[[MD:.*]] = graph.transpose %dy perm [1, 0, 2]
// CHECK-DAG: graph.conv %[[MX]], %[[MD]] strides [1] dilations [2] pads [1, 1]
func.func @conv(%dy: tensor<2x4x4xf32>, %x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>) -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>) {
  %dx, %dw, %db = "torch.aten.convolution_backward.default"(%dy, %x, %w) {bias_sizes = [4], stride = [2], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 1 : i64, output_mask = [true, true, false]}
    : (tensor<2x4x4xf32>, tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> (tensor<2x3x8xf32>, tensor<4x3x3xf32>, tensor<0xf32>)
  func.return %dx, %dw : tensor<2x3x8xf32>, tensor<4x3x3xf32>
}
// The rows of the padding's number get zeros.
// CHECK-LABEL: @embedding
// CHECK: %[[P:.*]] = graph.equal
// CHECK: %[[R:.*]] = graph.where
// CHECK: graph.scatter_nd %{{.*}}, %{{.*}}, %[[R]] combine "add"
func.func @embedding(%dy: tensor<3x4xf32>, %i: tensor<3xi64>) -> tensor<9x4xf32> {
  %d = "torch.aten.embedding_dense_backward.default"(%dy, %i) {num_weights = 9 : i64, padding_idx = 2 : i64, scale_grad_by_freq = false}
    : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<9x4xf32>
  func.return %d : tensor<9x4xf32>
}
// CHECK-LABEL: @max_pool
// CHECK: graph.scatter_elements {{.*}} axis 2 combine "add"
func.func @max_pool(%dy: tensor<1x2x2x2xf32>, %x: tensor<1x2x4x4xf32>, %i: tensor<1x2x2x2xi64>) -> tensor<1x2x4x4xf32> {
  %d = "torch.aten.max_pool2d_with_indices_backward.default"(%dy, %x, %i) {kernel_size = [2], stride = [2], padding = [0], dilation = [1], ceil_mode = false}
    : (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x2xi64>) -> tensor<1x2x4x4xf32>
  func.return %d : tensor<1x2x4x4xf32>
}
