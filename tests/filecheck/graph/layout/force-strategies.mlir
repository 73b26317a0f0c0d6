// RUN: stepwell-opt %s -p 'fold-constant,force-strategies{nodes="Conv_1=winograd4","Conv_2=rows"}' | filecheck %s
// RUN: stepwell-opt %s -p 'fold-constant,force-strategies{nodes="Conv_1=winograd4","Conv_2=rows"},convert-layout,winograd-conv{lanes=16}' | filecheck %s --check-prefix MADE
// RUN: stepwell-opt %s -p 'fold-constant,force-strategies{nodes="Conv_1=blocks","Conv_2=winograd2"},convert-layout,winograd-conv{lanes=16}' | filecheck %s --check-prefix OTHER

// The estimates alone would choose the same way for both.
// CHECK-LABEL: @convolutions
// CHECK: graph.conv {{.*}} {graph.strategy = "winograd4"}
// CHECK: graph.conv {{.*}} {graph.strategy = "rows"}
// MADE-LABEL: @convolutions
// MADE: graph.winograd_conv {{.*}} tile 4
// MADE: graph.conv {{.*}} pads [1, 1, 1, 1] {{.*}}: (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>)
// OTHER-LABEL: @convolutions
// OTHER: graph.conv {{.*}} data_layout "NCHW16c"
// OTHER: graph.winograd_conv {{.*}} tile 2
func.func @convolutions(%x: tensor<1x32x28x28xf32>) -> tensor<1x32x28x28xf32> {
  %half = graph.constant dense<5.0e-1> : tensor<f32>
  %quarter = graph.constant dense<2.5e-1> : tensor<f32>
  %w = graph.full %half shape <[32, 32, 3, 3]> : tensor<f32> -> tensor<32x32x3x3xf32>
  %v = graph.full %quarter shape <[32, 32, 3, 3]> : tensor<f32> -> tensor<32x32x3x3xf32>
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32> loc("Conv_1")
  %b = graph.conv %a, %v strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32> loc("Conv_2")
  func.return %b : tensor<1x32x28x28xf32>
}
