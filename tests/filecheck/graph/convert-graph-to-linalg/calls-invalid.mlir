// RUN: stepwell-opt %s -p convert-graph-to-linalg --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: recursion is not compiled yet: @f -> @g -> @f
  %y = graph.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: recursion is not compiled yet: @main -> @main
  %y = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %g = graph.function @f : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.call %g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: recursion is not compiled yet: @f -> @f
  %g = graph.function @f : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.call %g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: a call of the function @f is not compiled yet
  %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// Also in a branch.
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) {
    %b = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    // expected-error: a call of a function value is not compiled yet
    %z = graph.call %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %z : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: a tuple as the result of graph.if is not compiled yet
  %t = graph.if %c : tensor<i1> -> (tuple<tensor<4xf32>, tensor<4xf32>>) {
    %u = graph.tuple %x, %x : tensor<4xf32>, tensor<4xf32>
    graph.yield %u : tuple<tensor<4xf32>, tensor<4xf32>>
  } else {
    %z = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    %v = graph.tuple %z, %x : tensor<4xf32>, tensor<4xf32>
    graph.yield %v : tuple<tensor<4xf32>, tensor<4xf32>>
  }
  %y = graph.get %t[1] : tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Functions that nothing of @main reaches do no harm.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
