// RUN: stepwell-opt %s -p fold-qdq | filecheck %s
// RUN: stepwell-opt %s -p fold-qdq --remarks 2>&1 | filecheck %s --check-prefix REMARK

// Products of activations are exact when sums are short enough for exact floats: 16 times 258 terms.
// CHECK-LABEL: @attention
// CHECK: %[[T:.*]] = graph.transpose %k perm [0, 2, 1]
// CHECK: graph.matmul_integer %q, %[[T]]
// CHECK-NOT: graph.matmul %
// REMARK: remark: not folded: its second operand is computed, and the sums are too long or of unknown length
func.func @attention(%q: tensor<2x8x64xui8>, %k: tensor<2x9x64xi8>) -> tensor<2x8x9xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %q, %s to f32 : (tensor<2x8x64xui8>, tensor<f32>) -> tensor<2x8x64xf32>
  %1 = graph.dequantize %k, %s to f32 : (tensor<2x9x64xi8>, tensor<f32>) -> tensor<2x9x64xf32>
  %2 = graph.matmul %0, %1 transpose_b true : (tensor<2x8x64xf32>, tensor<2x9x64xf32>) -> tensor<2x8x9xf32>
  func.return %2 : tensor<2x8x9xf32>
}

// CHECK-LABEL: @long
// CHECK: graph.matmul_integer
// CHECK: graph.matmul %
func.func @long(%q: tensor<2x4128xui8>, %k: tensor<4128x2xi8>, %v: tensor<2x4129xui8>, %w: tensor<4129x2xi8>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %q, %s to f32 : (tensor<2x4128xui8>, tensor<f32>) -> tensor<2x4128xf32>
  %1 = graph.dequantize %k, %s to f32 : (tensor<4128x2xi8>, tensor<f32>) -> tensor<4128x2xf32>
  %2 = graph.matmul %0, %1 : (tensor<2x4128xf32>, tensor<4128x2xf32>) -> tensor<2x2xf32>
  %3 = graph.dequantize %v, %s to f32 : (tensor<2x4129xui8>, tensor<f32>) -> tensor<2x4129xf32>
  %4 = graph.dequantize %w, %s to f32 : (tensor<4129x2xi8>, tensor<f32>) -> tensor<4129x2xf32>
  %5 = graph.matmul %3, %4 : (tensor<2x4129xf32>, tensor<4129x2xf32>) -> tensor<2x2xf32>
  func.return %2, %5 : tensor<2x2xf32>, tensor<2x2xf32>
}

// A constant in batches has one scale; an activation in floats, or scales along the sum, keep the floats.
// CHECK-LABEL: @weights
// CHECK: graph.matmul_integer
// CHECK-COUNT-2: graph.matmul %
// REMARK: remark: not folded: its first operand is not dequantized from bytes
// REMARK: remark: not folded: its second operand has a scale for each index of axis 0, or is computed
func.func @weights(%x: tensor<2x3x2xui8>, %y: tensor<3x2xf32>) -> (tensor<2x3x2xf32>, tensor<3x2xf32>, tensor<2x3x2xf32>) {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %b = graph.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi8>
  %w = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %0 = graph.dequantize %x, %s to f32 : (tensor<2x3x2xui8>, tensor<f32>) -> tensor<2x3x2xf32>
  %1 = graph.dequantize %b, %s to f32 : (tensor<2x2x2xi8>, tensor<f32>) -> tensor<2x2x2xf32>
  %2 = graph.matmul %0, %1 : (tensor<2x3x2xf32>, tensor<2x2x2xf32>) -> tensor<2x3x2xf32>
  %3 = graph.dequantize %w, %s to f32 : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %4 = graph.matmul %y, %3 : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %5 = graph.dequantize %w, %t axis 0 to f32 : (tensor<2x2xi8>, tensor<2xf32>) -> tensor<2x2xf32>
  %6 = graph.matmul %0, %5 : (tensor<2x3x2xf32>, tensor<2x2xf32>) -> tensor<2x3x2xf32>
  func.return %2, %4, %6 : tensor<2x3x2xf32>, tensor<3x2xf32>, tensor<2x3x2xf32>
}
