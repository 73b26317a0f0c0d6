// RUN: stepwell-opt %s -p 'to-mixed-precision{operands=true},dead-code-elimination' | filecheck %s
// RUN: stepwell-opt %s -p 'to-mixed-precision{operands=true keep="block*"},dead-code-elimination' | filecheck %s --check-prefix KEEP
// RUN: not stepwell-opt %s -p 'to-mixed-precision{operands=true keep="blok/conv"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: error[bad-option]: keep-f32 matches no node: 'blok/conv'
// BAD: did you mean block/conv?

// Products of narrow operands sum in f32, with no rounding after it; a value is cast once for both.
// CHECK-LABEL: @products
// CHECK: %[[A:.*]] = graph.cast %a to bf16
// CHECK: %[[W:.*]] = graph.cast %w to bf16
// CHECK: %p = graph.matmul %[[A]], %[[W]] out_type f32 : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
// CHECK: %r = graph.relu %p : tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK: %[[R:.*]] = graph.cast %r to bf16
// CHECK: graph.matmul %[[A]], %[[R]] transpose_b true out_type f32
// KEEP-LABEL: @products
// KEEP: graph.matmul %{{.*}} out_type f32
func.func @products(%a: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %p = graph.matmul %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %r = graph.relu %p : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = graph.matmul %a, %r transpose_b true : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// Operands of convolutions are rounded, and stay f32; so do constants, 1.01 has the digits of 1.0078125.
// CHECK-LABEL: @conv
// CHECK: %[[K:.*]] = graph.constant dense<1.0078125> : tensor<1x1x1x1xf32>
// CHECK: %[[N:.*]] = graph.cast %x to bf16
// CHECK: %[[X:.*]] = graph.cast %[[N]] to f32
// CHECK: graph.conv %[[X]], %[[K]] {{.*}} : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>)
// KEEP-LABEL: @conv
// KEEP-NOT: graph.cast
// KEEP: graph.conv %x, %k
// KEEP-NOT: graph.cast
func.func @conv(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %k = graph.constant dense<1.01> : tensor<1x1x1x1xf32>
  %y = graph.conv %x, %k strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32> loc("block/conv")
  func.return %y : tensor<1x1x2x2xf32>
}

// What no product reads stays as it is.
// CHECK-LABEL: @others
// CHECK-NOT: graph.cast
func.func @others(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
