// RUN: stepwell-opt %s -p 'rewrite-patterns' --split-input-file --verify-diagnostics
pattern.rule @relu_to_tanh {
  %x = pattern.any
  %root = pattern.op "graph.relu"(%x)
  %new = pattern.make "graph.tanh"(%x)
  pattern.replace %root, %new
}
pattern.rule @tanh_to_relu {
  %x = pattern.any
  %root = pattern.op "graph.tanh"(%x)
  %new = pattern.make "graph.relu"(%x)
  pattern.replace %root, %new
}
func.func @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: rewriting does not end: relu_to_tanh and tanh_to_relu work on what the other makes, 100 times in a row
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// -----
pattern.rule @drop_cast {
  %x = pattern.any
  %root = pattern.op "graph.cast"(%x)
  pattern.replace %root, %x
}
func.func @another_type(%x: tensor<4xf32>) -> tensor<4xi32> {
  %a = graph.cast %x to i32 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi32>
  // expected-error: drop_cast replaces a value of type tensor<4xi32> by one of type tensor<4xf32>
  func.return %a : tensor<4xi32>
}
// -----
pattern.rule @drop_conv {
  %x = pattern.any
  %w = pattern.any
  %root = pattern.op "graph.conv"(%x, %w)
  pattern.replace %root, %x
}
func.func @a_user_that_cannot_take_it(%x: tensor<1x3x4x4xf32>, %w: tensor<8x3x1x1xf32>, %b: tensor<8xf32>)
    -> tensor<1x8x4x4xf32> {
  %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1x3x4x4xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x4x4xf32>
  // expected-error: of type tensor<1x3x4x4xf32>, which graph.bias_add does not take: bias must have shape (3)
  %y = graph.bias_add %c, %b axis 1 : (tensor<1x8x4x4xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  func.return %y : tensor<1x8x4x4xf32>
}
// -----
pattern.rule @r {
  %x = pattern.any
  %root = pattern.op "graph.neg"(%x)
  // expected-error: no callback is named @nobody
  pattern.replace %root by @nobody
}
