// RUN: stepwell-opt %s -p decompose-conv-transpose | filecheck %s

// Stride 2, four kernel points: two of them for even cells, two for odd ones; channels are pixels.
// CHECK-LABEL: @strided
func.func @strided(%x: tensor<?x2x5xf32, #graph.dims<["N", 2, 5]>>) -> tensor<?x1x11xf32, #graph.dims<["N", 1, 11]>> {
  %w = graph.constant dense<[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]> : tensor<2x1x4xf32>
  // CHECK: %[[W:.*]] = graph.constant dense<{{\[\[\[}}3.000000e+00, 1.000000e+00], [7.000000e+00, 5.000000e+00]], {{\[\[}}4.000000e+00, 2.000000e+00], [8.000000e+00, 6.000000e+00]]]> : tensor<2x2x2xf32>
  // CHECK: %[[CONV:.*]] = graph.conv %x, %[[W]] strides [1] dilations [1] pads [1, 1]
  // CHECK-SAME: -> tensor<?x2x6xf32, #graph.dims<["N", 2, 6]>>
  // CHECK: %[[SPLIT:.*]] = graph.reshape %[[CONV]] shape <["N", 1, 2, 6]>
  // CHECK: %[[TURNED:.*]] = graph.transpose %[[SPLIT]] perm [0, 1, 3, 2]
  // CHECK: %[[WIDE:.*]] = graph.reshape %[[TURNED]] shape <["N", 1, 12]>
  // CHECK: graph.pad %[[WIDE]] pads <[0, 0, -1, 0, 0, 0]>
  %0 = graph.conv_transpose %x, %w strides [2] dilations [1] pads [1, 0] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<?x2x5xf32, #graph.dims<["N", 2, 5]>>, tensor<2x1x4xf32>) -> tensor<?x1x11xf32, #graph.dims<["N", 1, 11]>>
  func.return %0 : tensor<?x1x11xf32, #graph.dims<["N", 1, 11]>>
}

// Three points: the middle one for even cells of the result, the first and the last for odd ones; the last cell of
// the sixth stride is cut off.
// CHECK-LABEL: @uneven
func.func @uneven(%x: tensor<?x2x5xf32, #graph.dims<["N", 2, 5]>>) -> tensor<?x1x9xf32, #graph.dims<["N", 1, 9]>> {
  %w = graph.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  // CHECK: %[[EVEN:.*]] = graph.constant dense<{{\[\[\[}}2.000000e+00], [5.000000e+00]]]> : tensor<1x2x1xf32>
  // CHECK: %[[A:.*]] = graph.conv %x, %[[EVEN]] strides [1] dilations [1] pads [0, 0]
  // CHECK: %[[ODD:.*]] = graph.constant dense<{{\[\[\[}}3.000000e+00, 1.000000e+00], [6.000000e+00, 4.000000e+00]]]> : tensor<1x2x2xf32>
  // CHECK: %[[B:.*]] = graph.conv %x, %[[ODD]] strides [1] dilations [1] pads [0, 1]
  // CHECK: %[[BOTH:.*]] = graph.concat %[[A]], %[[B]] axis 1
  // CHECK: %[[SPLIT:.*]] = graph.reshape %[[BOTH]] shape <["N", 2, 1, 5]>
  // CHECK: %[[TURNED:.*]] = graph.transpose %[[SPLIT]] perm [0, 2, 3, 1]
  // CHECK: %[[WIDE:.*]] = graph.reshape %[[TURNED]] shape <["N", 1, 10]>
  // CHECK: graph.pad %[[WIDE]] pads <[0, 0, 0, 0, 0, -1]>
  %0 = graph.conv_transpose %x, %w strides [2] dilations [1] pads [1, 1] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<?x2x5xf32, #graph.dims<["N", 2, 5]>>, tensor<2x1x3xf32>) -> tensor<?x1x9xf32, #graph.dims<["N", 1, 9]>>
  func.return %0 : tensor<?x1x9xf32, #graph.dims<["N", 1, 9]>>
}

// Without strides: no cell outside of the result is computed.
// CHECK-LABEL: @unit
func.func @unit(%x: tensor<1x2x5xf32>) -> tensor<1x1x5xf32> {
  %w = graph.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  // CHECK: %[[Y:.*]] = graph.conv %x, {{.*}} pads [1, 1]
  // CHECK-NEXT: return %[[Y]]
  %0 = graph.conv_transpose %x, %w strides [1] dilations [1] pads [1, 1] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<1x2x5xf32>, tensor<2x1x3xf32>) -> tensor<1x1x5xf32>
  func.return %0 : tensor<1x1x5xf32>
}

// A dilated one stays, and one whose filters are not known.
// CHECK-LABEL: @stays
// CHECK-COUNT-2: graph.conv_transpose
func.func @stays(%x: tensor<1x2x5xf32>, %f: tensor<2x1x3xf32>) -> (tensor<1x1x9xf32>, tensor<1x1x7xf32>) {
  %w = graph.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %0 = graph.conv_transpose %x, %w strides [1] dilations [2] pads [0, 0] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<1x2x5xf32>, tensor<2x1x3xf32>) -> tensor<1x1x9xf32>
  %1 = graph.conv_transpose %x, %f strides [1] dilations [1] pads [0, 0] output_padding [0] data_layout "NCW" kernel_layout "IOW" : (tensor<1x2x5xf32>, tensor<2x1x3xf32>) -> tensor<1x1x7xf32>
  func.return %0, %1 : tensor<1x1x9xf32>, tensor<1x1x7xf32>
}

// An empty result has no cells to compute.
// CHECK-LABEL: @empty
func.func @empty(%x: tensor<2x3x9x1xf32>) -> tensor<2x1x8x0xf32> {
  %w = graph.constant dense<1.0> : tensor<3x1x2x2xf32>
  // CHECK: graph.conv_transpose
  %0 = graph.conv_transpose %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] output_padding [0, 0] data_layout "NCHW" kernel_layout "IOHW" : (tensor<2x3x9x1xf32>, tensor<3x1x2x2xf32>) -> tensor<2x1x8x0xf32>
  func.return %0 : tensor<2x1x8x0xf32>
}
