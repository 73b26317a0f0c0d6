// RUN: stepwell-opt %s -p 'merge-composite{table="%S/conv.mlir"}' | filecheck %s
// RUN: stepwell-opt %s -p 'merge-composite{table="%S/conv.mlir" only=acme}' --remarks 2>&1 | filecheck %s --check-prefix REMARK

// CHECK-LABEL: @chain
// CHECK: %r = graph.composite (%{{.*}} = %x : {{.*}}, %{{.*}} = %w : {{.*}}, %{{.*}} = %b : {{.*}}) -> {{.*}} attributes {ops = "conv_bias_add_relu_", pattern = "acme.conv_bias_relu"}
// CHECK: graph.yield
// CHECK: %d = graph.composite (%{{.*}} = %w : {{.*}}, %{{.*}} = %r : {{.*}}) -> {{.*}} attributes {ops = "conv_", pattern = "acme.conv"}
// CHECK: func.return %d
func.func @chain(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %b: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %a = graph.bias_add %c, %b axis 1 : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = graph.relu %a : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %d = graph.conv %r, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  func.return %d : tensor<1x4x8x8xf32>
}
// The convolution is used by another op too, so that only the match of it alone is taken.
// CHECK-LABEL: @escapes
// CHECK: graph.composite {{.*}} {ops = "conv_", pattern = "acme.conv"}
// CHECK: graph.bias_add
// REMARK: remark: not grouped at graph.bias_add: graph.conv is used by graph.add as well
func.func @escapes(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %b: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %a = graph.bias_add %c, %b axis 1 : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = graph.add %a, %c : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %r : tensor<1x4x8x8xf32>
}
