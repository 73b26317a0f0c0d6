// RUN: stepwell-opt %s -p expand-forms --split-input-file --verify-diagnostics

func.func private @leaves(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: trees of form bits have at most 64 leaves, tree 3 has 65
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 65 largest 3 aggregate "sum" {sched.schedule = #sched.schedule<form = "bits">} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}

// -----

func.func private @open_features(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: trees of form bits need a known number of features
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 5 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "bits">} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}

// -----

func.func private @form(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: form must be walk or bits, found 'run'
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "run">} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}

// -----

func.func private @tiles(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: form must be walk or bits, found ''
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<tile = [4, 1]>} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}

// -----

func.func private @sizes(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: sizes of form walk are rows, block, trees, found lanes
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "walk", sizes = {lanes = 4}>} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}

// -----

func.func private @blocks(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: block must be a multiple of rows, found 60 and 8
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "walk", sizes = {rows = 8, block = 60}>} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}

// -----

func.func private @least(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi32>, %e: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error: least must not be more than rows, found 33 and 32
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "bits", sizes = {rows = 32, least = 33}>} : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<8x1xf32>
  func.return %y : tensor<8x1xf32>
}
