// RUN: stepwell-opt %s -p linalg-to-loops --verify-diagnostics

func.func @on_tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  // expected-error: no conversion for linalg.fill
  %y = linalg.fill ins(%one : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
