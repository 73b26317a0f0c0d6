// RUN: stepwell-opt %s --load %S/formulas.py -p fold-constant,apply-strategies | filecheck %s
// RUN: stepwell-opt %s --load %S/formulas.py -p 'fold-constant,force-strategies{nodes="Softmax_1=powers","Conv_1=default"},apply-strategies,convert-layout' | filecheck %s --check-prefix FORCED
// RUN: stepwell-opt %s -p 'fold-constant,apply-strategies' | filecheck %s --check-prefix NONE

// The formula costs less than blocks of filters, and does not apply to 64 channels. Softmax has no estimate of
// its own, so that a formula must be named.
// CHECK-LABEL: @convolutions
// CHECK: %[[A:.*]] = graph.expression "conv" {{.*}} reads (%{{.*}} = %{{.*}} ["1", "32", "30", "30"], %{{.*}} = %{{.*}} ["32", "32", "3", "3"])
// CHECK: graph.conv {{.*}} : (tensor<1x64x28x28xf32>
// CHECK: graph.softmax
// FORCED-LABEL: @convolutions
// FORCED-NOT: graph.strategy = "default"
// FORCED: graph.conv {{.*}} data_layout "NCHW16c"
// FORCED: graph.expression "e"
// FORCED: graph.expression "total"
// FORCED: graph.expression "powers"
// FORCED-SAME: ["128", "32"]
// NONE-LABEL: @convolutions
// NONE-NOT: graph.expression
func.func @convolutions(%x: tensor<1x32x28x28xf32>, %y: tensor<1x64x28x28xf32>, %z: tensor<128x32xf32>)
    -> (tensor<1x32x28x28xf32>, tensor<1x32x28x28xf32>, tensor<128x32xf32>) {
  %half = graph.constant dense<5.0e-1> : tensor<f32>
  %w = graph.full %half shape <[32, 32, 3, 3]> : tensor<f32> -> tensor<32x32x3x3xf32>
  %v = graph.full %half shape <[32, 64, 3, 3]> : tensor<f32> -> tensor<32x64x3x3xf32>
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32> loc("Conv_1")
  %b = graph.conv %y, %v strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x64x28x28xf32>, tensor<32x64x3x3xf32>) -> tensor<1x32x28x28xf32> loc("Conv_2")
  %c = graph.softmax %z axis 1 : tensor<128x32xf32> -> tensor<128x32xf32> loc("Softmax_1")
  func.return %a, %b, %c : tensor<1x32x28x28xf32>, tensor<1x32x28x28xf32>, tensor<128x32xf32>
}
