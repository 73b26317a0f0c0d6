// RUN: stepwell-opt %s -p append-optimizer --split-input-file --verify-diagnostics

// expected-error: @main has no parameters
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %y = graph.reduce %x kind "sum" axes [0] keep_dims false : tensor<4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
