// RUN: stepwell-opt %s -p 'fuse-ops' | filecheck %s

// Few rows: a panel of weights is dequantized in the kernel that multiplies it.
// CHECK-LABEL: @few
func.func @few(%a: tensor<4x64xf32>, %w: tensor<2x64x16xi8>, %s: tensor<2x2x16xf32>) -> tensor<4x32xf32> {
  // CHECK: graph.fused
  // CHECK: graph.dequantize
  // CHECK-NEXT: graph.matmul
  // CHECK-NOT: graph.fused
  %b = graph.dequantize %w, %s axis 1 block 32 to f32 : (tensor<2x64x16xi8>, tensor<2x2x16xf32>) -> tensor<2x64x16xf32>
  %y = graph.matmul %a, %b packing 16 : (tensor<4x64xf32>, tensor<2x64x16xf32>) -> tensor<4x32xf32>
  func.return %y : tensor<4x32xf32>
}

// Many rows: the panels are dequantized once, beforehand.
// CHECK-LABEL: @many
func.func @many(%a: tensor<40x64xf32>, %w: tensor<2x64x16xi8>, %s: tensor<2x2x16xf32>) -> tensor<40x32xf32> {
  // CHECK: graph.fused
  // CHECK: graph.dequantize
  // CHECK: graph.fused
  // CHECK: graph.matmul
  %b = graph.dequantize %w, %s axis 1 block 32 to f32 : (tensor<2x64x16xi8>, tensor<2x2x16xf32>) -> tensor<2x64x16xf32>
  %y = graph.matmul %a, %b packing 16 : (tensor<40x64xf32>, tensor<2x64x16xf32>) -> tensor<40x32xf32>
  func.return %y : tensor<40x32xf32>
}
