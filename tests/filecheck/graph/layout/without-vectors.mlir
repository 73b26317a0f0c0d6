// RUN: stepwell-opt %s -p 'convert-layout{block=1},pack-integers{lanes=1},winograd-conv{lanes=1},pack-weights{lanes=1}' | filecheck %s

// A target without vectors has lanes of one element: nothing is stored in blocks or panels.
// CHECK-LABEL: @main
// CHECK-NOT: graph.layout_transform
// CHECK: graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
// CHECK: graph.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, {{.*}}> : tensor<2x8xf32>
// CHECK-NEXT: graph.matmul %a, %{{.*}} : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: func.return
func.func @main(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>, %a: tensor<8x2xf32>) -> (tensor<1x16x8x8xf32>, tensor<8x8xf32>) {
  %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %b = graph.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]]> : tensor<2x8xf32>
  %c = graph.matmul %a, %b : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  func.return %y, %c : tensor<1x16x8x8xf32>, tensor<8x8xf32>
}
