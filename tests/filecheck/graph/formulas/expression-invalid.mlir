// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<4x8xf32>) {
  // expected-error: the sizes of an input of type tensor<4x8xf32> are 1
  %y = graph.expression "f" (%i < "4") reads (%a = %x ["4"]) : (tensor<4x8xf32>) -> tensor<4xf32> {
    %0 = arith.constant 0.0 : f32
    graph.yield %0 : f32
  }
  func.return
}

// -----

func.func @unbound(%x: tensor<4xf32>) {
  // expected-error: no dimension of an input is the size m
  %y = graph.expression "f" (%i < "m") reads (%a = %x ["n"]) : (tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.constant 0.0 : f32
    graph.yield %0 : f32
  }
  func.return
}

// -----

func.func @differ(%x: tensor<4xf32>, %z: tensor<5xf32>) {
  // expected-error: the size n is 4, and an input has 5 there
  %y = graph.expression "f" (%i < "n") reads (%a = %x ["n"], %b = %z ["n"]) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32> {
    %0 = arith.constant 0.0 : f32
    graph.yield %0 : f32
  }
  func.return
}

// -----

func.func @result(%x: tensor<4xf32>) {
  // expected-error: result type must be tensor<4xf32>, found tensor<3xf32>
  %y = graph.expression "f" (%i < "n") reads (%a = %x ["n"]) : (tensor<4xf32>) -> tensor<3xf32> {
    %0 = arith.constant 0.0 : f32
    graph.yield %0 : f32
  }
  func.return
}

// -----

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error: the body's first arguments must be an index an axis
  %y = "graph.expression"(%x) <{formula = "f", sizes = [["n"]], axes = ["n"], reduce = [], identity = [], elements = [f32]}> ({
  ^bb0(%i: i64, %a: tensor<?xf32>):
    %0 = arith.constant 0.0 : f32
    graph.yield %0 : f32
  }, {
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @argument_type(%x: tensor<4xf32>) {
  // expected-error: the body's argument must be tensor<?xf32>, found tensor<?xf64>
  %y = "graph.expression"(%x) <{formula = "f", sizes = [["n"]], axes = ["n"], reduce = [], identity = [], elements = [f32]}> ({
  ^bb0(%i: index, %a: tensor<?xf64>):
    %0 = arith.constant 0.0 : f32
    graph.yield %0 : f32
  }, {
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @numbers(%x: tensor<4xf32>) {
  // expected-error: expected numbers of f32, found i64
  %y = graph.expression "f" (%i < "n") reads (%a = %x ["n"]) : (tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.index_cast %i : index to i64
    graph.yield %0 : i64
  }
  func.return
}

// -----

func.func @whole(%x: tensor<4xf32>) {
  // expected-error: a formula has no tensor.empty: it computes numbers from numbers
  %y = graph.expression "f" (%i < "n") reads (%a = %x ["n"]) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %0 = tensor.extract %e[%i] : tensor<4xf32>
    graph.yield %0 : f32
  }
  func.return
}

// -----

func.func @no_identity(%x: tensor<4xf32>) {
  // expected-error: 1 axes to reduce need an identity of 1 numbers and a region to combine them, found 0 numbers
  %y = graph.expression "f" () reduce (%i < "n") reads (%a = %x ["n"]) : (tensor<4xf32>) -> tensor<f32> {
    %0 = tensor.extract %a[%i] : tensor<?xf32>
    graph.yield %0 : f32
  }
  func.return
}

// -----

func.func @one_argument(%x: tensor<4xf32>) {
  // expected-error: combine needs 2 arguments, found 1
  %y = graph.expression "f" () reduce (%i < "n") reads (%a = %x ["n"]) : (tensor<4xf32>) -> tensor<f32> {
    %0 = tensor.extract %a[%i] : tensor<?xf32>
    graph.yield %0 : f32
  } combine [0.0 : f32] {
  ^bb0(%u: f32):
    graph.yield %u : f32
  }
  func.return
}
