// RUN: stepwell-opt %s -p fold-scale-axis,dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p BackwardFoldScaleAxis,fold-scale-axis,dead-code-elimination | filecheck %s
// RUN: not stepwell-opt %s -p "fold-scale-axis{direction=up}" 2>&1 | filecheck %s --check-prefix BAD
// BAD: error[bad-option]: fold-scale-axis has no direction 'up'

// Through relu, bias and convolution: only the weights change.
// CHECK-LABEL: @conv
// CHECK-NEXT: %[[W:.*]] = graph.constant dense<{{.*}}1.000000e+01{{.*}}-6.000000e+01{{.*}}> : tensor<2x1x1x1xf32>
// CHECK-NEXT: %[[C:.*]] = graph.conv %x, %[[W]]
// CHECK-NEXT: %[[B:.*]] = graph.constant dense<[2.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: graph.bias_add %[[C]], %[[B]]
// CHECK-NEXT: %[[Y:.*]] = graph.relu
// CHECK-NEXT: func.return %[[Y]]
func.func @conv(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = graph.constant dense<[[[[5.0]]], [[[-20.0]]]]> : tensor<2x1x1x1xf32>
  %b = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = graph.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %d = graph.bias_add %c, %b axis 1 : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %e = graph.relu %d : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %y = graph.multiply %e, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// A scale that may be negative does not go through relu.
// CHECK-LABEL: @sign
// CHECK: graph.matmul
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.multiply
func.func @sign(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, -3.0]> : tensor<2xf32>
  %c = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %e = graph.relu %c : tensor<5x2xf32> -> tensor<5x2xf32>
  %y = graph.multiply %e, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// A product's second operand may be transposed; the scale stands along its columns.
// CHECK-LABEL: @transposed
// CHECK: graph.constant dense<{{..}}2.000000e+00, 4.000000e+00], [9.000000e+00, 1.200000e+01]]>
// CHECK: %[[Y:.*]] = graph.matmul
// CHECK-NEXT: func.return %[[Y]]
func.func @transposed(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %c = graph.matmul %x, %w transpose_b true : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %y = graph.multiply %c, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// Neither another reader, nor a scale along the rows, nor weights that are no constant.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: graph.multiply
func.func @kept(%x: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %r = graph.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %c = graph.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = graph.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = graph.matmul %x, %v : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = graph.multiply %c, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %z = graph.multiply %d, %r : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %q = graph.multiply %e, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %c, %y, %z, %q : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// Both sides of a sum, when each ends at weights.
// CHECK-LABEL: @both_sides
// CHECK: graph.constant dense<{{..}}2.000000e+00, 6.000000e+00], [6.000000e+00, 1.200000e+01]]>
// CHECK: graph.constant dense<{{..}}1.000000e+01, 1.800000e+01], [1.400000e+01, 2.400000e+01]]>
// CHECK: %[[Y:.*]] = graph.add
// CHECK-NEXT: func.return %[[Y]]
func.func @both_sides(%x: tensor<5x2xf32>, %z: tensor<5x2xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = graph.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %c = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %d = graph.matmul %z, %v : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %e = graph.add %c, %d : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %y = graph.multiply %e, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// One side is an input; a view stands between; weights would overflow.
// CHECK-LABEL: @other_ways
// CHECK-COUNT-3: graph.multiply
func.func @other_ways(%x: tensor<5x2xf32>, %z: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<2x5xf32>, tensor<5x2xf32>) {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %u = graph.constant dense<[[1.0e38, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = graph.constant dense<[20.0, 3.0]> : tensor<2xf32>
  %t = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %c = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %e = graph.add %c, %z : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %y0 = graph.multiply %e, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %d = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %r = graph.transpose %d perm [1, 0] : tensor<5x2xf32> -> tensor<2x5xf32>
  %y1 = graph.multiply %r, %t : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %f = graph.matmul %x, %u : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %y2 = graph.multiply %f, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  func.return %y0, %y1, %y2 : tensor<5x2xf32>, tensor<2x5xf32>, tensor<5x2xf32>
}

// A number that is added to all channels becomes one for each channel.
// CHECK-LABEL: @one_number
// CHECK: graph.conv
// CHECK: graph.constant dense<{{\[\[\[}}6.000000e+00]], {{\[\[}}1.200000e+01]]]> : tensor<2x1x1xf32>
// CHECK: graph.add
// CHECK-NOT: graph.multiply
func.func @one_number(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = graph.constant dense<1.0> : tensor<2x2x1x1xf32>
  %c = graph.constant dense<3.0> : tensor<f32>
  %s = graph.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = graph.add %a, %c : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %y = graph.multiply %b, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}
