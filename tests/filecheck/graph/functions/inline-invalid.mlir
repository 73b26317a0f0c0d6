// RUN: stepwell-opt %s -p 'inline' --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: @f has 2 arguments, found 1
  %a = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: @f: result 0 must be tensor<4xf32>, found tensor<5xf32>
  %a = graph.call @f(%x) : (tensor<4xf32>) -> tensor<5xf32>
  func.return %a : tensor<5xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tuple<tensor<4xf32>>) -> tensor<4xf32> {
  // expected-error: @f: argument 0 must be tensor<4xf32>, found tuple<tensor<4xf32>>
  %a = graph.call @f(%x) : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
