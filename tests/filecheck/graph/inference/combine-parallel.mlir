// RUN: stepwell-opt %s -p combine-parallel | filecheck %s
// RUN: stepwell-opt %s -p combine-parallel,combine-parallel,fold-constant,dead-code-elimination | filecheck %s
// RUN: stepwell-opt %s -p 'CombineParallelDense{min-branches=4}' | filecheck %s --check-prefix FEW
// RUN: stepwell-opt %s -p 'combine-parallel{op=quantized_matmul min-branches=2}' | filecheck %s --check-prefix APART
// RUN: not stepwell-opt %s -p 'combine-parallel{op=dense}' 2>&1 | filecheck %s --check-prefix BAD
// BAD: error[bad-option]: combine-parallel knows no dense

// Filters, biases and what else follows alike are joined; the widths may differ.
// CHECK-LABEL: @convs
// CHECK-DAG: %[[W:.*]] = graph.constant {{.*}} : tensor<4x1x1x1xf32>
// CHECK: %[[C:.*]] = graph.conv %x, %[[W]]
// CHECK-DAG: %[[B:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK: %[[D:.*]] = graph.bias_add %[[C]], %[[B]] axis 1
// CHECK-NEXT: %[[R:.*]] = graph.relu %[[D]]
// CHECK-DAG: graph.slice %[[R]] starts <[0, 0, 0, 0]> limits <[1, 1, 2, 2]>
// CHECK-DAG: graph.slice %[[R]] starts <[0, 1, 0, 0]> limits <[1, 3, 2, 2]>
// CHECK-DAG: graph.slice %[[R]] starts <[0, 3, 0, 0]> limits <[1, 4, 2, 2]>
// CHECK-NOT: graph.conv
func.func @convs(%x: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>) {
  %u = graph.constant dense<[[[[5.0]]]]> : tensor<1x1x1x1xf32>
  %c0 = graph.conv %x, %u strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %b0 = graph.constant dense<[1.0]> : tensor<1xf32>
  %d0 = graph.bias_add %c0, %b0 axis 1 : (tensor<1x1x2x2xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %y0 = graph.relu %d0 : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
  %v = graph.constant dense<[[[[6.0]]], [[[7.0]]]]> : tensor<2x1x1x1xf32>
  %c1 = graph.conv %x, %v strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %b1 = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %d1 = graph.bias_add %c1, %b1 axis 1 : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %y1 = graph.relu %d1 : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
  %w = graph.constant dense<[[[[-8.0]]]]> : tensor<1x1x1x1xf32>
  %c2 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %b2 = graph.constant dense<[4.0]> : tensor<1xf32>
  %d2 = graph.bias_add %c2, %b2 axis 1 : (tensor<1x1x2x2xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %y2 = graph.relu %d2 : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
  func.return %y0, %y1, %y2 : tensor<1x1x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>
}

// Weights that are no constants; the same factor for all, then functions that differ stay apart.
// CHECK-LABEL: @matmuls
// CHECK: %[[W:.*]] = graph.concat %u, %v, %w axis 0
// CHECK-NEXT: %[[C:.*]] = graph.matmul %x, %[[W]] transpose_b true
// CHECK-NEXT: %[[S:.*]] = graph.multiply %[[C]], %s
// CHECK-NEXT: graph.slice %[[S]]
// CHECK-NEXT: graph.slice %[[S]]
// CHECK-NEXT: graph.slice %[[S]]
// CHECK: graph.tanh
// FEW-LABEL: @matmuls
// FEW-NOT: graph.concat
// Weights in floats are none of codes.
// APART-LABEL: @convs
// APART-NOT: graph.slice
// APART-LABEL: @matmuls
// APART-NOT: graph.concat
func.func @matmuls(%x: tensor<2x5x4xf32>, %u: tensor<3x4xf32>, %v: tensor<2x4xf32>, %w: tensor<3x4xf32>, %s: tensor<f32>) -> (tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<2x5x3xf32>) {
  %c0 = graph.matmul %x, %u transpose_b true : (tensor<2x5x4xf32>, tensor<3x4xf32>) -> tensor<2x5x3xf32>
  %c1 = graph.matmul %x, %v transpose_b true : (tensor<2x5x4xf32>, tensor<2x4xf32>) -> tensor<2x5x2xf32>
  %c2 = graph.matmul %x, %w transpose_b true : (tensor<2x5x4xf32>, tensor<3x4xf32>) -> tensor<2x5x3xf32>
  %d0 = graph.multiply %c0, %s : (tensor<2x5x3xf32>, tensor<f32>) -> tensor<2x5x3xf32>
  %d1 = graph.multiply %c1, %s : (tensor<2x5x2xf32>, tensor<f32>) -> tensor<2x5x2xf32>
  %d2 = graph.multiply %c2, %s : (tensor<2x5x3xf32>, tensor<f32>) -> tensor<2x5x3xf32>
  %y0 = graph.relu %d0 : tensor<2x5x3xf32> -> tensor<2x5x3xf32>
  %y1 = graph.relu %d1 : tensor<2x5x2xf32> -> tensor<2x5x2xf32>
  %y2 = graph.tanh %d2 : tensor<2x5x3xf32> -> tensor<2x5x3xf32>
  func.return %y0, %y1, %y2 : tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<2x5x3xf32>
}

// CHECK-LABEL: @batch
// CHECK: graph.concat %u, %v, %w axis 2
// CHECK-NEXT: graph.matmul
// CHECK-NOT: graph.matmul
func.func @batch(%x: tensor<2x5x4xf32>, %u: tensor<2x4x3xf32>, %v: tensor<2x4x2xf32>, %w: tensor<2x4x1xf32>) -> (tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<2x5x1xf32>) {
  %c0 = graph.matmul %x, %u : (tensor<2x5x4xf32>, tensor<2x4x3xf32>) -> tensor<2x5x3xf32>
  %c1 = graph.matmul %x, %v : (tensor<2x5x4xf32>, tensor<2x4x2xf32>) -> tensor<2x5x2xf32>
  %c2 = graph.matmul %x, %w : (tensor<2x5x4xf32>, tensor<2x4x1xf32>) -> tensor<2x5x1xf32>
  func.return %c0, %c1, %c2 : tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<2x5x1xf32>
}

// Two are too few, other strides are another kind, weights that depend on a sibling come too late.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: graph.matmul
// CHECK-COUNT-3: graph.conv
func.func @kept(%x: tensor<4x4xf32>, %z: tensor<1x1x3x3xf32>, %u: tensor<4x4xf32>, %k: tensor<1x1x1x1xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) {
  %c0 = graph.matmul %x, %u : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c1 = graph.matmul %x, %c0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c2 = graph.matmul %x, %c1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d0 = graph.conv %z, %k strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x3x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x3x3xf32>
  %d1 = graph.conv %z, %k strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x3x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x3x3xf32>
  %d2 = graph.conv %z, %k strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x1x3x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  func.return %c0, %c1, %c2, %d0, %d1, %d2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>
}
