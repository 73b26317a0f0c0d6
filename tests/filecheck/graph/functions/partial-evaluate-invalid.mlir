// RUN: stepwell-opt %s -p partial-evaluate --verify-diagnostics

func.func @incomplete(%x: tensor<f32>) -> tensor<f32> {
  // expected-error: 1 value has no type
  %y = graph.neg %x : tensor<f32> -> !graph.hole<"y">
  func.return %y : !graph.hole<"y">
}
