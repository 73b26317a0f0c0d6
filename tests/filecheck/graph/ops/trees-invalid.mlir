// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @lengths(%x: tensor<4x20xf32>, %f: tensor<9xi32>, %t: tensor<8xf32>, %c: tensor<9x2xi32>, %m: tensor<9xi1>, %r: tensor<3xi32>, %w: tensor<9x2xf32>) {
  // expected-error: thresholds must have 9 rows of f32, found tensor<8xf32>
  %0 = graph.tree_ensemble %x, %f, %t, %c, %m, %r, %w steps 1 aggregate "sum" : (tensor<4x20xf32>, tensor<9xi32>, tensor<8xf32>, tensor<9x2xi32>, tensor<9xi1>, tensor<3xi32>, tensor<9x2xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @aggregate(%x: tensor<4x20xf32>, %f: tensor<9xi32>, %t: tensor<9xf32>, %c: tensor<9x2xi32>, %m: tensor<9xi1>, %r: tensor<3xi32>, %w: tensor<9x2xf32>) {
  // expected-error: aggregate must be one of sum, min, max, steps not negative
  %0 = graph.tree_ensemble %x, %f, %t, %c, %m, %r, %w steps 1 aggregate "median" : (tensor<4x20xf32>, tensor<9xi32>, tensor<9xf32>, tensor<9x2xi32>, tensor<9xi1>, tensor<3xi32>, tensor<9x2xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @integers(%x: tensor<4x20xi64>, %f: tensor<9xi32>, %t: tensor<9xf32>, %c: tensor<9x2xi32>, %m: tensor<9xi1>, %r: tensor<3xi32>, %w: tensor<9x2xf32>) {
  // expected-error: x must be [rows, features] of floats, found tensor<4x20xi64>
  %0 = graph.tree_ensemble %x, %f, %t, %c, %m, %r, %w steps 1 aggregate "sum" : (tensor<4x20xi64>, tensor<9xi32>, tensor<9xf32>, tensor<9x2xi32>, tensor<9xi1>, tensor<3xi32>, tensor<9x2xf32>) -> tensor<4x2xf32>
  func.return
}
