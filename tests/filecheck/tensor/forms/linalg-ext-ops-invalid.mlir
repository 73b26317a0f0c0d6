// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func private @tables(%x: tensor<8x2xf32>, %n: tensor<6x4xi64>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %e: tensor<8x1xf32>) {
  // expected-error: nodes must have 4 columns of i32, found tensor<6x4xi64>
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<8x2xf32>, tensor<6x4xi64>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  func.return
}

// -----

func.func private @result(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %e: tensor<8x2xf32>) {
  // expected-error: the result must be tensor<8x1xf32>, found tensor<8x2xf32>
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  func.return
}
