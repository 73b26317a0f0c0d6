// RUN: stepwell-opt %s -p tail-calls-to-loops | filecheck %s

// The condition goes into the first region, what leads to the call into the second, the rest after the loop.
// CHECK-LABEL: func.func private @sum(%n: tensor<i64>, %s: tensor<i64>) -> tensor<i64> {
// CHECK-NEXT: %[[N:.*]], %[[S:.*]] = graph.while (%[[A:.*]] = %n : tensor<i64>, %{{.*}} = %s : tensor<i64>) -> (tensor<i64>, tensor<i64>) {
// CHECK-NEXT: %zero = graph.constant dense<0>
// CHECK-NEXT: %more = graph.less %zero, %[[A]]
// CHECK-NEXT: graph.yield %more
// CHECK-NEXT: } do (%[[B:.*]]: tensor<i64>, %[[T:.*]]: tensor<i64>) {
// CHECK-NEXT: %one = graph.constant dense<1>
// CHECK-NEXT: %m = graph.subtract %[[B]], %one
// CHECK-NEXT: %t = graph.add %[[T]], %[[B]]
// CHECK-NEXT: graph.yield %m, %t : tensor<i64>, tensor<i64>
// CHECK-NEXT: }
// CHECK-NEXT: %[[R:.*]] = graph.neg %[[S]]
// CHECK-NEXT: func.return %[[R]]
func.func private @sum(%n: tensor<i64>, %s: tensor<i64>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %more = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %more : tensor<i1> -> (tensor<i64>) {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %t = graph.add %s, %n : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %u = graph.call @sum(%m, %t) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %u : tensor<i64>
  } else {
    %v = graph.neg %s : tensor<i64> -> tensor<i64>
    graph.yield %v : tensor<i64>
  }
  func.return %r : tensor<i64>
}

// Both branches may end: the loop carries a flag, and the result, which begins as zeros.
// CHECK-LABEL: func.func private @search(
// CHECK: %[[TRUE:.*]] = graph.constant dense<true>
// CHECK: %[[ZEROS:.*]] = graph.full
// CHECK: graph.while (%{{.*}} = %n : tensor<i64>, %{{.*}} = %x : tensor<4xf32>, %[[GO:.*]] = %[[TRUE]] : tensor<i1>, %[[OLD:.*]] = %[[ZEROS]] : tensor<4xf32>)
// CHECK-NEXT: graph.yield %[[GO]]
// CHECK: } do (%[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<4xf32>, %[[GO:.*]]: tensor<i1>, %[[OLD:.*]]: tensor<4xf32>) {
// CHECK: %[[FALSE:.*]] = graph.constant dense<false>
// CHECK: graph.if
// CHECK-NEXT: graph.yield %[[N]], %[[X]], %[[FALSE]], %[[X]]
// CHECK: graph.if
// CHECK: graph.yield %[[N]], %[[X]], %[[FALSE]], %y
// CHECK: graph.yield %m, %y, %[[GO]], %[[OLD]]
// CHECK-NOT: graph.call @search
func.func private @search(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %seven = graph.constant dense<7> : tensor<i64>
    %found = graph.equal %seven, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %s = graph.if %found : tensor<i1> -> (tensor<4xf32>) {
      graph.yield %y : tensor<4xf32>
    } else {
      %one = graph.constant dense<1> : tensor<i64>
      %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %t = graph.call @search(%m, %y) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %t : tensor<4xf32>
    }
    graph.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// A lambda that is a loop needs no name for itself.
// CHECK-LABEL: func.func @of_a_lambda(
// CHECK: graph.lambda (%m: tensor<i64>) -> (tensor<i64>) {
// CHECK-NEXT: graph.while
func.func @of_a_lambda(%n: tensor<i64>, %k: tensor<i64>) -> tensor<i64> {
  %f = graph.lambda self %loop (%m: tensor<i64>) -> (tensor<i64>) {
    %less = graph.less %m, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %r = graph.if %less : tensor<i1> -> (tensor<i64>) {
      %twice = graph.add %m, %m : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %s = graph.call %loop(%twice) : (tensor<i64>) -> tensor<i64>
      graph.yield %s : tensor<i64>
    } else {
      graph.yield %m : tensor<i64>
    }
    graph.yield %r : tensor<i64>
  }
  %y = graph.call %f(%n) : (tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}

// Calls in the middle, of each other, of other sizes, on data: they stay.
// CHECK-LABEL: func.func private @factorial(
// CHECK: graph.call @factorial(
func.func private @factorial(%n: tensor<i64>) -> tensor<i64> {
  %one = graph.constant dense<1> : tensor<i64>
  %more = graph.less %one, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %more : tensor<i1> -> (tensor<i64>) {
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %u = graph.call @factorial(%m) : (tensor<i64>) -> tensor<i64>
    %v = graph.multiply %u, %n : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %v : tensor<i64>
  } else {
    graph.yield %n : tensor<i64>
  }
  func.return %r : tensor<i64>
}
// CHECK-LABEL: func.func private @grow(
// CHECK: graph.call @grow(
func.func private @grow(%c: tensor<i1>, %x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32> {
  %r = graph.if %c : tensor<i1> -> (tensor<?xf32>) {
    %one = graph.constant dense<1.0> : tensor<1xf32>
    %y = graph.concat %x, %one axis 0 : (tensor<?xf32, #graph.dims<["N"]>>, tensor<1xf32>) -> tensor<?xf32, #graph.dims<["N + 1"]>>
    %u = graph.call @grow(%c, %y) : (tensor<i1>, tensor<?xf32, #graph.dims<["N + 1"]>>) -> tensor<?xf32>
    graph.yield %u : tensor<?xf32>
  } else {
    graph.yield %x : tensor<?xf32, #graph.dims<["N"]>>
  }
  func.return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func private @last(
// CHECK: graph.call @last(
func.func private @last(%l: !adt.data<@List, tensor<i64>>, %x: tensor<i64>) -> tensor<i64> {
  %r = adt.match %l : !adt.data<@List, tensor<i64>> -> (tensor<i64>) case Cons(%y: tensor<i64>, %t: !adt.data<@List, tensor<i64>>) {
    %u = graph.call @last(%t, %y) : (!adt.data<@List, tensor<i64>>, tensor<i64>) -> tensor<i64>
    graph.yield %u : tensor<i64>
  } case Nil {
    graph.yield %x : tensor<i64>
  }
  func.return %r : tensor<i64>
}
// CHECK-LABEL: func.func private @even(
// CHECK: graph.call @odd(
func.func private @even(%n: tensor<i64>) -> tensor<i64> {
  %m = graph.call @odd(%n) : (tensor<i64>) -> tensor<i64>
  func.return %m : tensor<i64>
}
// CHECK-LABEL: func.func private @odd(
// CHECK: graph.call @even(
func.func private @odd(%n: tensor<i64>) -> tensor<i64> {
  %m = graph.call @even(%n) : (tensor<i64>) -> tensor<i64>
  func.return %m : tensor<i64>
}
