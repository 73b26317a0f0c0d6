// RUN: stepwell-opt %s -p plan-memory --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: graph.relu is not allowed in @main on buffers
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// An op of another dialect, also inside of a region.
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    // expected-error: nothing has lowered math.exp: no conversion leads from `math` to kernels by itself
    %e = math.exp %x : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// expected-error: the memory of @main is planned already
func.func @main(%x: memref<4xf32>) {
  func.return
}

// -----

func.func @main(%x: tensor<?xf32> {graph.dims = #graph.dims<["N"]>}, %N: index) -> tensor<?x2xf32>
    attributes {sched.program = #sched.program<symbols = ["N"]>} {
  // expected-error: graph.reshape: the size of a dimension of the result is unknown
  %y = graph.reshape %x shape <["?", 2]> : tensor<?xf32> -> tensor<?x2xf32>
  func.return %y : tensor<?x2xf32>
}

// -----

// A buffer larger than any memory.
// expected-error@unknown: would take
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @k0(%x) : (tensor<4xf32>) -> tensor<70368744177664xf32>
  %y = func.call @k1(%a) : (tensor<70368744177664xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @k0(tensor<4xf32>) -> tensor<70368744177664xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
func.func private @k1(tensor<70368744177664xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}

// -----

// expected-error: a result is the next value of the state 's', and no argument is this state
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.state = "s"}) {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error: two values are the state 's'
func.func @main(%x: tensor<4xf32> {graph.state = "s"}, %y: tensor<4xf32> {graph.state = "s"}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error: the state 's' is tensor<4xf32> before a call and tensor<5xf32> after it
func.func @main(%x: tensor<4xf32> {graph.state = "s"}, %y: tensor<5xf32>) -> (tensor<5xf32> {graph.state = "s"}) {
  func.return %y : tensor<5xf32>
}
