// RUN: stepwell-opt %s --verify-diagnostics --split-input-file -p 'force-strategies{nodes="Conv_1=winograd4"}'

func.func @strides(%x: tensor<1x32x28x28xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<1x32x14x14xf32> {
  // expected-error@unknown: strategy winograd4 of Conv_1 does not apply: strides [2, 2], dilations [1, 1]
  %a = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x14x14xf32> loc("Conv_1")
  func.return %a : tensor<1x32x14x14xf32>
}
// -----
func.func @computed(%x: tensor<1x32x28x28xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32> {
  // expected-error@unknown: strategy winograd4 of Conv_1 does not apply: its filters are computed by the model
  %a = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32> loc("Conv_1")
  func.return %a : tensor<1x32x28x28xf32>
}
// -----
// expected-error@unknown: strategy of 'Conv_1': no such node has several
func.func @other(%x: tensor<1x32x28x28xf32>) -> tensor<1x32x28x28xf32> {
  %a = graph.relu %x : tensor<1x32x28x28xf32> -> tensor<1x32x28x28xf32> loc("Conv_1")
  func.return %a : tensor<1x32x28x28xf32>
}
