// RUN: stepwell-opt %s -p 'fold-scale-axis{direction=forward},dead-code-elimination' | filecheck %s
// RUN: stepwell-opt %s -p ForwardFoldScaleAxis,ForwardFoldScaleAxis,dead-code-elimination | filecheck %s

// Each filter sees the channels of its group; what is added on the way is divided.
// CHECK-LABEL: @conv
// CHECK-NEXT: %[[B:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-NEXT: %[[A:.*]] = graph.bias_add %x, %[[B]]
// CHECK-NEXT: %[[R:.*]] = graph.relu %[[A]]
// CHECK-NEXT: %[[W:.*]] = graph.constant dense<{{.*}}2.000000e+00{{.*}}1.000000e+01{{.*}}1.500000e+01{{.*}}3.500000e+01{{.*}}> : tensor<2x2x1x1xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.conv %[[R]], %[[W]]
// CHECK-NEXT: func.return %[[Y]]
func.func @conv(%x: tensor<1x4x3x3xf32>) -> tensor<1x2x5x5xf32> {
  %s = graph.constant dense<[[[2.0]], [[5.0]], [[5.0]], [[7.0]]]> : tensor<4x1x1xf32>
  %b = graph.constant dense<[2.0, 10.0, 15.0, 28.0]> : tensor<4xf32>
  %w = graph.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[5.0]]]]> : tensor<2x2x1x1xf32>
  %m = graph.multiply %s, %x : (tensor<4x1x1xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %a = graph.bias_add %m, %b axis 1 : (tensor<1x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x3x3xf32>
  %r = graph.relu %a : tensor<1x4x3x3xf32> -> tensor<1x4x3x3xf32>
  %y = graph.conv %r, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 2 : (tensor<1x4x3x3xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x5x5xf32>
  func.return %y : tensor<1x2x5x5xf32>
}

// CHECK-LABEL: @matmul_transposed
// CHECK: graph.constant dense<{{..}}2.000000e+00, 6.000000e+00], [6.000000e+00, 1.200000e+01]]>
// CHECK-NEXT: %[[Y:.*]] = graph.matmul %x,
// CHECK-NEXT: func.return %[[Y]]
func.func @matmul_transposed(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %m = graph.multiply %x, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %y = graph.matmul %m, %w transpose_b true : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// A scale below 2^-64 goes into weights, but divides no constant.
// CHECK-LABEL: @tiny
// CHECK: %[[Y:.*]] = graph.matmul %x,
// CHECK: graph.multiply
// CHECK: graph.matmul
func.func @tiny(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0e-20, 3.0]> : tensor<2xf32>
  %m = graph.multiply %x, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %y = graph.matmul %m, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %n = graph.multiply %x, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %a = graph.add %n, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %z = graph.matmul %a, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  func.return %y, %z : tensor<5x2xf32>, tensor<5x2xf32>
}

// A negative number before relu, an input that is added, another reader, a view, rows instead of channels,
// weights that are no constant: all stay.
// CHECK-LABEL: @kept
// CHECK-COUNT-6: graph.multiply
func.func @kept(%x: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, -3.0]> : tensor<2xf32>
  %q = graph.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %m0 = graph.multiply %x, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %r = graph.relu %m0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %y0 = graph.matmul %r, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %m1 = graph.multiply %x, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %a = graph.add %m1, %v : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %y1 = graph.matmul %a, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %m2 = graph.multiply %v, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %y2 = graph.matmul %m2, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %m3 = graph.multiply %x, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %t = graph.transpose %m3 perm [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %y3 = graph.matmul %t, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %m4 = graph.multiply %x, %q : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %y4 = graph.matmul %m4, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %m5 = graph.multiply %x, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %y5 = graph.matmul %m5, %v : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y0, %y1, %y2, %y3, %y4, %y5, %m2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// A number that is added to all channels becomes one for each channel, divided by its scale.
// CHECK-LABEL: @one_number
// CHECK: graph.constant dense<{{\[\[\[}}1.500000e+00]], {{\[\[}}7.500000e-01]]]> : tensor<2x1x1xf32>
// CHECK: graph.add %x
// CHECK-NOT: graph.multiply
func.func @one_number(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = graph.constant dense<1.0> : tensor<2x2x1x1xf32>
  %c = graph.constant dense<3.0> : tensor<f32>
  %s = graph.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %a = graph.multiply %x, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = graph.add %a, %c : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %y = graph.conv %b, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}
