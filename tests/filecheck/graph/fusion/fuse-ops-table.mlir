// RUN: stepwell-opt %s -p 'fuse-ops{table="%S/../../patterns/conv.mlir" only=acme}' | filecheck %s
// RUN: stepwell-opt %s -p 'merge-composite{table="%S/../../patterns/conv.mlir" only=acme},fuse-ops' | filecheck %s

// Matches of a table are kernels before any rule: the addition, which would end in the convolution's kernel, is
// one by itself. Composites that another pass left are kernels too.
// CHECK-LABEL: @residual
// CHECK: %[[R:.*]] = graph.fused {{.*}} attributes {kind = "pattern", pattern = "acme.conv_bias_relu"}
// CHECK-NEXT: graph.conv
// CHECK-NEXT: graph.bias_add
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.yield
// CHECK: graph.fused (%{{.*}} = %[[R]] : {{.*}} attributes {kind = "elementwise"}
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.tanh
// CHECK-NEXT: graph.yield
// CHECK-NOT: graph.composite
func.func @residual(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %b: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %a = graph.bias_add %c, %b axis 1 : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = graph.relu %a : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %s = graph.add %r, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %t = graph.tanh %s : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  func.return %t : tensor<1x4x8x8xf32>
}
