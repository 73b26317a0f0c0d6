// RUN: stepwell-opt %s -p inline | filecheck %s
// RUN: stepwell-opt %s -p 'inline{once}' | filecheck %s --check-prefix=ONCE

// A lambda that is a field of a tuple, of a tuple in a tuple too.
// CHECK-LABEL: @tuples
// CHECK-NEXT: %[[Y:.*]] = graph.exp %x
// CHECK-NEXT: func.return %[[Y]]
// ONCE-LABEL: @tuples
// ONCE-NEXT: graph.exp %x
func.func @tuples(%x: tensor<f32>) -> tensor<f32> {
  %f = graph.lambda (%a: tensor<f32>) -> (tensor<f32>) {
    %b = graph.exp %a : tensor<f32> -> tensor<f32>
    graph.yield %b : tensor<f32>
  }
  %t = graph.tuple %x, %f : tensor<f32>, (tensor<f32>) -> tensor<f32>
  %u = graph.tuple %t : tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>>
  %v = graph.get %u [0] : tuple<tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>>> -> tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>>
  %g = graph.get %v [1] : tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>> -> (tensor<f32>) -> tensor<f32>
  %y = graph.call %g(%x) : (tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// A tuple of functions that an inlined function returns; each function has two uses.
// CHECK-LABEL: @returned
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.exp
// CHECK-NEXT: func.return
// ONCE-LABEL: @returned
// ONCE: graph.call
// ONCE: graph.call
func.func @returned(%x: tensor<f32>) -> tensor<f32> {
  %t = graph.call @both() : () -> tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>>
  %f = graph.get %t [0] : tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>> -> (tensor<f32>) -> tensor<f32>
  %g = graph.get %t [1] : tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>> -> (tensor<f32>) -> tensor<f32>
  %a = graph.call %f(%x) : (tensor<f32>) -> tensor<f32>
  %b = graph.call %g(%a) : (tensor<f32>) -> tensor<f32>
  %c = graph.call %f(%b) : (tensor<f32>) -> tensor<f32>
  func.return %c : tensor<f32>
}
func.func private @both() -> tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>> {
  %f = graph.lambda (%a: tensor<f32>) -> (tensor<f32>) {
    %b = graph.exp %a : tensor<f32> -> tensor<f32>
    graph.yield %b : tensor<f32>
  }
  %g = graph.lambda (%a: tensor<f32>) -> (tensor<f32>) {
    %b = graph.neg %a : tensor<f32> -> tensor<f32>
    graph.yield %b : tensor<f32>
  }
  %t = graph.tuple %f, %g : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  func.return %t : tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>>
}

// A function within data, in a case of a match and after it.
// CHECK-LABEL: @data
// CHECK-NEXT: %[[A:.*]] = graph.exp %x
// CHECK-NEXT: %[[B:.*]] = graph.exp %[[A]]
// CHECK-NEXT: func.return %[[B]]
func.func @data(%x: tensor<f32>) -> tensor<f32> {
  %f = graph.lambda (%a: tensor<f32>) -> (tensor<f32>) {
    %b = graph.exp %a : tensor<f32> -> tensor<f32>
    graph.yield %b : tensor<f32>
  }
  %o = adt.make @Option::@Some(%f) : ((tensor<f32>) -> tensor<f32>) -> !adt.data<@Option, (tensor<f32>) -> tensor<f32>>
  %y, %h = adt.match %o : !adt.data<@Option, (tensor<f32>) -> tensor<f32>> -> (tensor<f32>, (tensor<f32>) -> tensor<f32>)
  case None {
    graph.yield %x, %f : tensor<f32>, (tensor<f32>) -> tensor<f32>
  } case Some(%g: (tensor<f32>) -> tensor<f32>) {
    %z = graph.call %g(%x) : (tensor<f32>) -> tensor<f32>
    graph.yield %z, %g : tensor<f32>, (tensor<f32>) -> tensor<f32>
  }
  %w = graph.call %h(%y) : (tensor<f32>) -> tensor<f32>
  func.return %w : tensor<f32>
}

// A branch on a constant, after one that decides it; calls in the arm that does not run are gone.
// CHECK-LABEL: @branches
// CHECK-NEXT: graph.constant
// CHECK-NEXT: graph.constant
// CHECK-NEXT: %y = graph.neg %x
// CHECK-NEXT: func.return %y
func.func @branches(%x: tensor<f32>) -> tensor<f32> {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.constant dense<false> : tensor<i1>
  %c = graph.if %true : tensor<i1> -> (tensor<i1>) {
    graph.yield %false : tensor<i1>
  } else {
    graph.yield %true : tensor<i1>
  }
  %f = graph.if %c : tensor<i1> -> ((tensor<f32>) -> tensor<f32>) {
    %t = graph.call @both() : () -> tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>>
    %g = graph.get %t [0] : tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>> -> (tensor<f32>) -> tensor<f32>
    graph.yield %g : (tensor<f32>) -> tensor<f32>
  } else {
    %g = graph.function @negated : (tensor<f32>) -> tensor<f32>
    graph.yield %g : (tensor<f32>) -> tensor<f32>
  }
  %y = graph.call %f(%x) : (tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func private @negated(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.neg %x : tensor<f32> -> tensor<f32>
  func.return %y : tensor<f32>
}

// A branch that is not decided stays, and so does the call.
// CHECK-LABEL: @unknown
// CHECK: graph.if %c
// CHECK: graph.call
func.func @unknown(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %f = graph.if %c : tensor<i1> -> ((tensor<f32>) -> tensor<f32>) {
    %g = graph.function @negated : (tensor<f32>) -> tensor<f32>
    graph.yield %g : (tensor<f32>) -> tensor<f32>
  } else {
    %g = graph.lambda (%a: tensor<f32>) -> (tensor<f32>) {
      graph.yield %a : tensor<f32>
    }
    graph.yield %g : (tensor<f32>) -> tensor<f32>
  }
  %y = graph.call %f(%x) : (tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// A function that calls itself through data is inlined a few times at most.
// CHECK-LABEL: @through_data
// CHECK: graph.call
adt.data @Self {
  adt.constructor @Self((!adt.data<@Self>, tensor<f32>) -> tensor<f32>)
}
func.func @through_data(%x: tensor<f32>) -> tensor<f32> {
  %f = graph.lambda (%s: !adt.data<@Self>, %a: tensor<f32>) -> (tensor<f32>) {
    %r = adt.match %s : !adt.data<@Self> -> (tensor<f32>) case Self(%g: (!adt.data<@Self>, tensor<f32>) -> tensor<f32>) {
      %b = graph.exp %a : tensor<f32> -> tensor<f32>
      %c = graph.call %g(%s, %b) : (!adt.data<@Self>, tensor<f32>) -> tensor<f32>
      graph.yield %c : tensor<f32>
    }
    graph.yield %r : tensor<f32>
  }
  %s = adt.make @Self::@Self(%f) : ((!adt.data<@Self>, tensor<f32>) -> tensor<f32>) -> !adt.data<@Self>
  %y = graph.call %f(%s, %x) : (!adt.data<@Self>, tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
