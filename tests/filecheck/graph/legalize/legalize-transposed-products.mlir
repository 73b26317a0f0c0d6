// RUN: stepwell-opt %s -p 'legalize{set=transposed-products},dead-code-elimination' | filecheck %s
// RUN: stepwell-opt %s -p 'legalize{set=transposed-products},legalize{set=transposed-products},dead-code-elimination' | filecheck %s
// RUN: stepwell-opt %s -p 'legalize{set=turned-products},dead-code-elimination' | filecheck %s

// CHECK-LABEL: @transposed
// CHECK-NEXT: %y = graph.matmul %a, %b transpose_a true transpose_b true
// CHECK-NEXT: func.return
func.func @transposed(%a: tensor<2x4x8xf32>, %b: tensor<2x3x4xf32>) -> tensor<2x8x3xf32> {
  %t = graph.transpose %a perm [0, 2, 1] : tensor<2x4x8xf32> -> tensor<2x8x4xf32>
  %y = graph.matmul %t, %b transpose_b true : (tensor<2x8x4xf32>, tensor<2x3x4xf32>) -> tensor<2x8x3xf32>
  func.return %y : tensor<2x8x3xf32>
}

// CHECK-LABEL: @broadcasts
// CHECK-NEXT: graph.matmul %a, %b transpose_a true : (tensor<4x8xf64>, tensor<2x4x3xf64>) -> tensor<2x8x3xf64>
func.func @broadcasts(%a: tensor<4x8xf64>, %b: tensor<2x4x3xf64>) -> tensor<2x8x3xf64> {
  %t = graph.transpose %a perm [1, 0] : tensor<4x8xf64> -> tensor<8x4xf64>
  %y = graph.matmul %t, %b : (tensor<8x4xf64>, tensor<2x4x3xf64>) -> tensor<2x8x3xf64>
  func.return %y : tensor<2x8x3xf64>
}

// More than the last two dimensions move.
// CHECK-LABEL: @heads
// CHECK: graph.matmul %t, %b :
func.func @heads(%a: tensor<4x2x8xf32>, %b: tensor<2x4x3xf32>) -> tensor<2x8x3xf32> {
  %t = graph.transpose %a perm [1, 2, 0] : tensor<4x2x8xf32> -> tensor<2x8x4xf32>
  %y = graph.matmul %t, %b : (tensor<2x8x4xf32>, tensor<2x4x3xf32>) -> tensor<2x8x3xf32>
  func.return %y : tensor<2x8x3xf32>
}

// It is written for another reader as it is.
// CHECK-LABEL: @shared
// CHECK: graph.matmul %t, %b :
func.func @shared(%a: tensor<4x8xf32>, %b: tensor<4x3xf32>) -> (tensor<8x3xf32>, tensor<8x4xf32>) {
  %t = graph.transpose %a perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %y = graph.matmul %t, %b : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  func.return %y, %t : tensor<8x3xf32>, tensor<8x4xf32>
}

// Rows of narrow elements are what is read well.
// CHECK-LABEL: @narrow
// CHECK: graph.matmul %t, %b :
func.func @narrow(%a: tensor<4x8xf16>, %b: tensor<4x3xf16>) -> tensor<8x3xf16> {
  %t = graph.transpose %a perm [1, 0] : tensor<4x8xf16> -> tensor<8x4xf16>
  %y = graph.matmul %t, %b : (tensor<8x4xf16>, tensor<4x3xf16>) -> tensor<8x3xf16>
  func.return %y : tensor<8x3xf16>
}

// Lines 4 KiB apart push each other out of a cache.
// CHECK-LABEL: @far
// CHECK: graph.matmul %t, %b :
func.func @far(%a: tensor<8192x1024xf32>, %b: tensor<8192x3xf32>) -> tensor<1024x3xf32> {
  %t = graph.transpose %a perm [1, 0] : tensor<8192x1024xf32> -> tensor<1024x8192xf32>
  %y = graph.matmul %t, %b : (tensor<1024x8192xf32>, tensor<8192x3xf32>) -> tensor<1024x3xf32>
  func.return %y : tensor<1024x3xf32>
}

// A product that reads its operand transposed already: twice is as it was.
// CHECK-LABEL: @transposed_twice
// CHECK: graph.matmul %t, %b transpose_a true
func.func @transposed_twice(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %t = graph.transpose %a perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = graph.matmul %t, %b transpose_a true : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
