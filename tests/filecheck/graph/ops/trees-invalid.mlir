// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @integers(%x: tensor<4x20xi64>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>) {
  // expected-error: x must be [rows, features] of f32 or f64, found tensor<4x20xi64>
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<4x20xi64>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @nodes(%x: tensor<4x20xf32>, %n: tensor<9x4xi64>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>) {
  // expected-error: nodes must have 4 columns of i32, found tensor<9x4xi64>
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<4x20xf32>, tensor<9x4xi64>, tensor<3x5xi32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @trees(%x: tensor<4x20xf32>, %n: tensor<9x4xi32>, %t: tensor<3x4xi32>, %w: tensor<6x2xf32>) {
  // expected-error: trees must have 5 columns of i32, found tensor<3x4xi32>
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<4x20xf32>, tensor<9x4xi32>, tensor<3x4xi32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @weights(%x: tensor<4x20xf32>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xi32>) {
  // expected-error: weights must have columns of floats, found tensor<6x2xi32>
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<4x20xf32>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xi32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @cuts_alone(%x: tensor<4x20xf32>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>, %c: tensor<6x2xi32>) {
  // expected-error: trees have 3 tables, or 5 with bit vectors, found 4
  %0 = graph.tree_ensemble %x, %n, %t, %w, %c depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<4x20xf32>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xf32>, tensor<6x2xi32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @masks(%x: tensor<4x20xf32>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>, %c: tensor<6x2xi32>, %m: tensor<5xi32>) {
  // expected-error: masks must be 6 numbers of i32 or i64, found tensor<5xi32>
  %0 = graph.tree_ensemble %x, %n, %t, %w, %c, %m depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<4x20xf32>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xf32>, tensor<6x2xi32>, tensor<5xi32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @aggregate(%x: tensor<4x20xf32>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>) {
  // expected-error: aggregate must be one of sum, min, max, depth, leaves and largest not negative
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 1 leaves 2 largest 0 aggregate "median" : (tensor<4x20xf32>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  func.return
}
