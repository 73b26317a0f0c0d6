// RUN: stepwell-opt %s -p linalg-to-loops --split-input-file --verify-diagnostics

func.func @on_tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  // expected-error: no conversion for linalg.fill
  %y = linalg.fill ins(%one : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @no_operand_has_the_extent_of_j(%x: memref<4xf32>) {
  // expected-error: invalid indexing maps are non-invertible
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} outs(%x : memref<4xf32>) {
  ^bb0(%a: f32):
    linalg.yield %a : f32
  }
  func.return
}
