// RUN: stepwell-opt %s -p 'pack-weights{lanes=2}' | filecheck %s

// Codes, scales and zero points of blocks along K become panels alike.
// CHECK-LABEL: @blocks
func.func @blocks(%a: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = graph.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %s = graph.constant dense<[[0.5, 1.0], [2.0, 4.0]]> : tensor<2x2xf32>
  // CHECK: %[[W:.*]] = graph.constant dense<{{\[\[\[}}1, 5], [2, 6], [3, 7], [4, 8]]]> : tensor<1x4x2xi8>
  // CHECK: %[[S:.*]] = graph.constant dense<{{\[\[\[}}{{.*}}]]]> : tensor<1x2x2xf32>
  // CHECK: %[[P:.*]] = graph.dequantize %[[W]], %[[S]] axis 1 block 2 to f32
  // CHECK: graph.matmul %a, %[[P]] packing 2
  %b = graph.dequantize %w, %s axis 1 block 2 to f32 : (tensor<2x4xi8>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %y = graph.matmul %a, %b transpose_b true : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// One scale a column, no blocks: constant folding has dealt with what is worth it.
// CHECK-LABEL: @columns
func.func @columns(%a: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = graph.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %s = graph.constant dense<[0.5, 1.0]> : tensor<2xf32>
  // CHECK: graph.matmul %a, %{{.*}} transpose_b true
  %b = graph.dequantize %w, %s axis 0 to f32 : (tensor<2x4xi8>, tensor<2xf32>) -> tensor<2x4xf32>
  %y = graph.matmul %a, %b transpose_b true : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
