// RUN: stepwell-opt %s -p combine-parallel | filecheck %s
// RUN: stepwell-opt %s -p 'combine-parallel{op=matmul}' | filecheck %s --check-prefix FEW

// Codes, scales in blocks and zero points are joined along the columns, then biases; a format of its own stays apart.
// CHECK-LABEL: @codes
// CHECK-DAG: %[[Q:.*]] = graph.constant dense<{{\[}}[3, 4], [5, 6], [1, 2], [7, 0]]> : tensor<4x2xi4>
// CHECK-DAG: %[[S:.*]] = graph.constant dense<{{\[}}[2.000000e+00], [3.000000e+00], [1.000000e+00], [4.000000e+00]]> : tensor<4x1xf32>
// CHECK-DAG: %[[Z:.*]] = graph.constant dense<{{\[}}[1], [2], [0], [3]]> : tensor<4x1xi4>
// CHECK: %[[W:.*]] = graph.dequantize %[[Q]], %[[S]] zero_point %[[Z]] : tensor<4x1xi4> axis 1 block 2 to f32
// CHECK: %[[C:.*]] = graph.matmul %x, %[[W]] transpose_b true : (tensor<5x2xf32>, tensor<4x2xf32>) -> tensor<5x4xf32>
// CHECK: %[[B:.*]] = graph.add %[[C]], %{{.*}} : (tensor<5x4xf32>, tensor<4xf32>)
// CHECK-DAG: graph.slice %[[B]] starts <[0, 0]> limits <[5, 2]>
// CHECK-DAG: graph.slice %[[B]] starts <[0, 2]> limits <[5, 3]>
// CHECK-DAG: graph.slice %[[B]] starts <[0, 3]> limits <[5, 4]>
// CHECK: graph.matmul %x, %{{.*}} transpose_b true : (tensor<5x2xf32>, tensor<1x2xf32>)
// FEW-LABEL: @codes
// FEW: graph.matmul
// FEW: graph.matmul
// FEW: graph.matmul
// FEW: graph.matmul
func.func @codes(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x1xf32>, tensor<5x1xf32>, tensor<5x1xf32>) {
  %q1 = graph.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi4>
  %s1 = graph.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %z1 = graph.constant dense<[[1], [2]]> : tensor<2x1xi4>
  %w1 = graph.dequantize %q1, %s1 zero_point %z1 : tensor<2x1xi4> axis 1 block 2 to f32 : (tensor<2x2xi4>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %c1 = graph.matmul %x, %w1 transpose_b true : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %b1 = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %y1 = graph.add %c1, %b1 : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %q0 = graph.constant dense<[[1, 2]]> : tensor<1x2xi4>
  %s0 = graph.constant dense<[[1.0]]> : tensor<1x1xf32>
  %z0 = graph.constant dense<[[0]]> : tensor<1x1xi4>
  %w0 = graph.dequantize %q0, %s0 zero_point %z0 : tensor<1x1xi4> axis 1 block 2 to f32 : (tensor<1x2xi4>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %c0 = graph.matmul %x, %w0 transpose_b true : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  %b0 = graph.constant dense<[1.0]> : tensor<1xf32>
  %y0 = graph.add %c0, %b0 : (tensor<5x1xf32>, tensor<1xf32>) -> tensor<5x1xf32>
  %q2 = graph.constant dense<[[7, 0]]> : tensor<1x2xi4>
  %s2 = graph.constant dense<[[4.0]]> : tensor<1x1xf32>
  %z2 = graph.constant dense<[[3]]> : tensor<1x1xi4>
  %w2 = graph.dequantize %q2, %s2 zero_point %z2 : tensor<1x1xi4> axis 1 block 2 to f32 : (tensor<1x2xi4>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %c2 = graph.matmul %x, %w2 transpose_b true : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  %b2 = graph.constant dense<[4.0]> : tensor<1xf32>
  %y2 = graph.add %c2, %b2 : (tensor<5x1xf32>, tensor<1xf32>) -> tensor<5x1xf32>
  // Without zero points.
  %w3 = graph.dequantize %q2, %s2 axis 1 block 2 to f32 : (tensor<1x2xi4>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %y3 = graph.matmul %x, %w3 transpose_b true : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  func.return %y1, %y0, %y2, %y3 : tensor<5x2xf32>, tensor<5x1xf32>, tensor<5x1xf32>, tensor<5x1xf32>
}

// A scale for each column is joined in its only dimension; a common zero point is copied, others keep products apart.
// CHECK-LABEL: @columns
// CHECK: %z = graph.constant dense<8> : tensor<ui8>
// CHECK: %[[S:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK: %[[Z:.*]] = graph.constant dense<8> : tensor<ui8>
// CHECK: %[[W:.*]] = graph.dequantize %{{.*}}, %[[S]] zero_point %[[Z]] : tensor<ui8> axis 1 to f32 : (tensor<2x3xui8>
// CHECK: graph.matmul %x, %[[W]] : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
// CHECK: zero_point %{{.*}} : tensor<ui8> axis 1 to f32 : (tensor<2x1xui8>
// CHECK: graph.matmul
// CHECK-NOT: graph.matmul
func.func @columns(%x: tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xf32>, tensor<5x1xf32>, tensor<5x1xf32>) {
  %z = graph.constant dense<8> : tensor<ui8>
  %other = graph.constant dense<9> : tensor<ui8>
  %q0 = graph.constant dense<[[1], [2]]> : tensor<2x1xui8>
  %s0 = graph.constant dense<[1.0]> : tensor<1xf32>
  %w0 = graph.dequantize %q0, %s0 zero_point %z : tensor<ui8> axis 1 to f32 : (tensor<2x1xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  %y0 = graph.matmul %x, %w0 : (tensor<5x2xf32>, tensor<2x1xf32>) -> tensor<5x1xf32>
  %s1 = graph.constant dense<[2.0]> : tensor<1xf32>
  %w1 = graph.dequantize %q0, %s1 zero_point %z : tensor<ui8> axis 1 to f32 : (tensor<2x1xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  %y1 = graph.matmul %x, %w1 : (tensor<5x2xf32>, tensor<2x1xf32>) -> tensor<5x1xf32>
  %s2 = graph.constant dense<[3.0]> : tensor<1xf32>
  %w2 = graph.dequantize %q0, %s2 zero_point %z : tensor<ui8> axis 1 to f32 : (tensor<2x1xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  %y2 = graph.matmul %x, %w2 : (tensor<5x2xf32>, tensor<2x1xf32>) -> tensor<5x1xf32>
  %w3 = graph.dequantize %q0, %s2 zero_point %other : tensor<ui8> axis 1 to f32 : (tensor<2x1xui8>, tensor<1xf32>) -> tensor<2x1xf32>
  %y3 = graph.matmul %x, %w3 : (tensor<5x2xf32>, tensor<2x1xf32>) -> tensor<5x1xf32>
  func.return %y0, %y1, %y2, %y3 : tensor<5x1xf32>, tensor<5x1xf32>, tensor<5x1xf32>, tensor<5x1xf32>
}
