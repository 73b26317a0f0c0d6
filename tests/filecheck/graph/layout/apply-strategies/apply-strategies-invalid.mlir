// RUN: stepwell-opt %s --load %S/formulas.py --verify-diagnostics --split-input-file -p 'force-strategies{nodes="Conv_1=sums","Relu_1=halves?","Relu_2=halves?"},apply-strategies'

func.func @channels(%x: tensor<1x64x28x28xf32>, %w: tensor<32x64x3x3xf32>) -> tensor<1x32x26x26xf32> {
  // expected-error@unknown: strategy sums of Conv_1 does not apply: 64 channels, sums takes 32
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x64x28x28xf32>, tensor<32x64x3x3xf32>) -> tensor<1x32x26x26xf32> loc("Conv_1")
  func.return %a : tensor<1x32x26x26xf32>
}
// -----
func.func @groups(%x: tensor<1x32x28x28xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<1x32x26x26xf32> {
  // expected-error@unknown: strategy sums of Conv_1 does not apply: its formula takes no `groups`, which is 2
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2
    : (tensor<1x32x28x28xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x26x26xf32> loc("Conv_1")
  func.return %a : tensor<1x32x26x26xf32>
}
// -----
func.func @types(%x: tensor<1x32x28x28xf32>, %w: tensor<32x32x3x3xf32>, %y: tensor<8xf32>) -> (tensor<1x32x26x26xf32>, tensor<8xf32>) {
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x26x26xf32> loc("Conv_1")
  // expected-error@unknown: strategy halves computes tensor<4xf32>, expected tensor<8xf32>
  %b = graph.relu %y : tensor<8xf32> -> tensor<8xf32> loc("Relu_1")
  func.return %a, %b : tensor<1x32x26x26xf32>, tensor<8xf32>
}
