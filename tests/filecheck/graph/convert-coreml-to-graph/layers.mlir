// RUN: stepwell-opt %s -p convert-coreml-to-graph | filecheck %s

// Padding "same" adds the odd cell at the end, "same_lower" at the beginning; "custom" has pairs for each axis.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x3x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x3x4x9xf32>) {
  // CHECK: %[[W:.*]] = graph.constant #graph.weight
  %w = "coreml.weight"() <{value = #graph.weight<"w", "0123456789abcdef0123456789abcdef", tensor<4x3x3x3xf32>>}> : () -> tensor<4x3x3x3xf32>
  %b = "coreml.weight"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  // CHECK: %[[C:.*]] = graph.conv %x, %[[W]] strides [2, 2] dilations [1, 1] pads [0, 0, 1, 1]
  // CHECK-NEXT: graph.bias_add %[[C]], %{{.*}} axis 1
  %y = "coreml.conv"(%x, %w, %b) {strides = [2, 2], pad_type = "same"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: graph.conv %x, %[[W]] strides [2, 2] dilations [1, 1] pads [1, 1, 0, 0]
  %z = "coreml.conv"(%x, %w) {strides = [2, 2], pad_type = "same_lower"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: graph.pool %x kind "avg" kernel [2, 2] strides [2, 1] dilations [1, 1] pads [0, 1, 0, 1] count_include_pad true
  %p = "coreml.avg_pool"(%x) {kernel_sizes = [2, 2], strides = [2, 1], pad_type = "custom", pad = [0, 0, 1, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x9xf32>
  func.return %y, %z, %p : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x3x4x9xf32>
}
// The weight of a fully connected layer has its outputs first.
// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<?x2xf32, #graph.dims<["N", 2]>> {
  %w = "coreml.weight"() <{value = dense<0.5> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
  // CHECK: %[[T:.*]] = graph.transpose %{{.*}} perm [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  // CHECK-NEXT: graph.matmul %x, %[[T]]
  %y = "coreml.linear"(%x, %w) : (tensor<?x4xf32, #graph.dims<["N", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32>
  // CHECK-NOT: coreml.
  %z = "coreml.square"(%y) : (tensor<?x2xf32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  func.return %z : tensor<?x2xf32, #graph.dims<["N", 2]>>
}
// The end of a slice is open where its mask says so; a squeezed axis goes.
// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<4x6xf32>) -> tensor<3xf32> {
  %b = "coreml.weight"() <{value = dense<[-1, 0]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %e = "coreml.weight"() <{value = dense<[0, 0]> : tensor<2xi32>}> : () -> tensor<2xi32>
  // CHECK: %[[S:.*]] = graph.slice %x starts <[3, 0]> limits <[4, 6]> steps [1, 2]
  // CHECK-NEXT: graph.squeeze %[[S]] axes [0]
  %y = "coreml.slice_by_index"(%x, %b, %e) {stride = [1, 2], end_mask = [false, true], squeeze_mask = [true, false]} : (tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
