// RUN: stepwell-opt %s -p 'to-basic-block-normal-form' | filecheck %s --check-prefix BLOCK
// RUN: stepwell-opt %s -p 'ToBasicBlockNormalForm,to-basic-block-normal-form' | filecheck %s --check-prefix BLOCK
// RUN: stepwell-opt %s -p 'to-a-normal-form' | filecheck %s --check-prefix ORDER
// RUN: stepwell-opt %s -p 'ToANormalForm,to-a-normal-form' | filecheck %s --check-prefix ORDER
// RUN: stepwell-opt %s -p 'to-graph-normal-form' | filecheck %s --check-prefix DEPTH
// RUN: stepwell-opt %s -p 'to-a-normal-form,ToGraphNormalForm' | filecheck %s --check-prefix DEPTH

// What one branch uses goes there with what it is made of; what both use, and what a loop uses, does not.
// BLOCK-LABEL: @branches
// BLOCK-NEXT: graph.sqrt
// BLOCK-NEXT: graph.abs
// BLOCK-NEXT: graph.if
// BLOCK-NEXT: graph.neg
// BLOCK-NEXT: graph.exp
// BLOCK-NEXT: graph.add
// BLOCK: } else {
// BLOCK-NEXT: graph.for
func.func @branches(%x: tensor<4xf32>, %c: tensor<i1>, %n: tensor<i64>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %both = graph.sqrt %x : tensor<4xf32> -> tensor<4xf32>
  %looped = graph.abs %both : tensor<4xf32> -> tensor<4xf32>
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %s = graph.add %b, %both : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t = graph.add %s, %looped : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %t : tensor<4xf32>
  } else {
    %l = graph.for %i to %n (%p = %both : tensor<4xf32>) -> (tensor<4xf32>) {
      %q = graph.add %p, %looped : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %q : tensor<4xf32>
    }
    graph.yield %l : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A loop's body takes nothing, a branch inside of it does.
// BLOCK-LABEL: @loop
// BLOCK-NEXT: graph.exp
// BLOCK-NEXT: graph.for
// BLOCK-NEXT: graph.if
// BLOCK-NEXT: graph.neg
func.func @loop(%x: tensor<4xf32>, %c: tensor<i1>, %n: tensor<i64>) -> tensor<4xf32> {
  %outer = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %l = graph.for %i to %n (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %m = graph.neg %p : tensor<4xf32> -> tensor<4xf32>
    %r = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
      %q = graph.add %m, %outer : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %q : tensor<4xf32>
    } else {
      graph.yield %p : tensor<4xf32>
    }
    graph.yield %r : tensor<4xf32>
  }
  func.return %l : tensor<4xf32>
}

// ORDER-LABEL: @order
// ORDER-NEXT: graph.neg
// ORDER-NEXT: graph.exp
// ORDER-NEXT: graph.abs
// ORDER-NEXT: graph.add
// ORDER-NEXT: graph.sqrt
// DEPTH-LABEL: @order
// DEPTH-NEXT: graph.neg
// DEPTH-NEXT: graph.abs
// DEPTH-NEXT: graph.sqrt
// DEPTH-NEXT: graph.exp
// DEPTH-NEXT: graph.add
func.func @order(%x: tensor<4xf32>) -> tensor<4xf32> {
  %unused = graph.sqrt %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.abs %x : tensor<4xf32> -> tensor<4xf32>
  %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %c = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %d = graph.add %c, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// What speaks of a size stays behind the op that tells it, though no operand says so.
// ORDER-LABEL: @size_from_data
// ORDER: graph.bind_sizes
// ORDER-NEXT: graph.iota
// DEPTH-LABEL: @size_from_data
// DEPTH: graph.bind_sizes
// DEPTH-NEXT: graph.iota
func.func @size_from_data(%n: tensor<i64>) -> tensor<?xi64, #graph.dims<["data_0"]>> {
  %0 = graph.abs %n : tensor<i64> -> tensor<i64>
  %1 = graph.bind_sizes %0 names ["data_0"] : tensor<i64> -> index
  %2 = graph.iota shape <["data_0"]> axis 0 of i64 -> tensor<?xi64, #graph.dims<["data_0"]>>
  func.return %2 : tensor<?xi64, #graph.dims<["data_0"]>>
}

// A branch gets its order first: what it reads from outside is evaluated in the order in which it does.
// ORDER-LABEL: @inside
// ORDER-NEXT: graph.neg
// ORDER-NEXT: graph.exp
// ORDER-NEXT: graph.if
// ORDER-NEXT: graph.sqrt
// ORDER-NEXT: graph.abs
// DEPTH-LABEL: @inside
// DEPTH-NEXT: graph.neg
// DEPTH-NEXT: graph.exp
// DEPTH-NEXT: graph.if
func.func @inside(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %b = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %p = graph.abs %b : tensor<4xf32> -> tensor<4xf32>
    %q = graph.sqrt %a : tensor<4xf32> -> tensor<4xf32>
    %r = graph.add %q, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
