// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @sizes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: 1 inputs and 1 results need shapes
  %y = graph.nest "f" (%x) reads [] extents [] writes [["4"]] of [f32] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @free(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no dimension of an input is the size n
  %y = graph.nest "f" (%x) reads [["4"]] extents ["n"] writes [["4"]] of [f32] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %n: index):
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @arguments(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: the body's arguments must be tensor<?xf32>, found tensor<4xf32>
  %y = graph.nest "f" (%x) reads [["n"]] extents [] writes [["4"]] of [f32] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @results(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: the body yields tensor<5xf32>, found tensor<4xf32>
  %y = graph.nest "f" (%x) reads [["4"]] extents [] writes [["5"]] of [f32] : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<5xf32>
}

// -----

func.func @ops(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: the body of a nest has ops of level 2, found graph.relu
  %y = graph.nest "f" (%x) reads [["4"]] extents [] writes [["4"]] of [f32] : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %b = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
