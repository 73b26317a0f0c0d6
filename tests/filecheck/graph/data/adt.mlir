// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK: adt.data @Shape<"A", "E": float> {
// CHECK-NEXT: adt.constructor @Circle(tensor<!graph.var<"E">>)
// CHECK-NEXT: adt.constructor @Both(!graph.var<"A">, !adt.data<@Shape, !graph.var<"A">, !graph.var<"E">>)
adt.data @Shape<"A", "E": float> {
  adt.constructor @Circle(tensor<!graph.var<"E">>)
  adt.constructor @Both(!graph.var<"A">, !adt.data<@Shape, !graph.var<"A">, !graph.var<"E">>)
}
// CHECK: adt.data @Void {
adt.data @Void {}
// CHECK: adt.data @Box<"A"> {
adt.data @Box<"A"> {
  adt.constructor @Box(!graph.var<"A">)
}

// CHECK-LABEL: @make
func.func @make(%x: tensor<f32>) -> !adt.data<@List, tensor<f32>> {
  // CHECK: %[[N:.*]] = adt.make @List::@Nil() : () -> !adt.data<@List, tensor<f32>>
  %n = adt.make @List::@Nil() : () -> !adt.data<@List, tensor<f32>>
  // CHECK: adt.make @List::@Cons(%x, %[[N]]) : (tensor<f32>, !adt.data<@List, tensor<f32>>) -> !adt.data<@List, tensor<f32>>
  %l = adt.make @List::@Cons(%x, %n) : (tensor<f32>, !adt.data<@List, tensor<f32>>) -> !adt.data<@List, tensor<f32>>
  func.return %l : !adt.data<@List, tensor<f32>>
}

// CHECK-LABEL: @nested
func.func @nested(%l: !adt.data<@List, tensor<f32>>, %z: tensor<f32>) -> tensor<f32> {
  // CHECK: adt.match %l : !adt.data<@List, tensor<f32>> -> (tensor<f32>) case Cons(%[[A:.*]]: tensor<f32>, Nil) {
  // CHECK-NEXT: graph.yield %[[A]] : tensor<f32>
  // CHECK-NEXT: } case Cons(_, %{{.*}}: !adt.data<@List, tensor<f32>>) {
  // CHECK: } case Nil {
  %r = adt.match %l : !adt.data<@List, tensor<f32>> -> (tensor<f32>) case Cons(%a: tensor<f32>, Nil) {
    graph.yield %a : tensor<f32>
  } case Cons(_, %rest: !adt.data<@List, tensor<f32>>) {
    graph.yield %z : tensor<f32>
  } case Nil {
    graph.yield %z : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// CHECK-LABEL: @partial_and_pairs
func.func @partial_and_pairs(%p: tuple<!adt.data<@Nat>, !adt.data<@Nat>>) {
  // CHECK: adt.match partial %p : tuple<!adt.data<@Nat>, !adt.data<@Nat>> -> () case (S(%{{.*}}: !adt.data<@Nat>), Z) {
  adt.match partial %p : tuple<!adt.data<@Nat>, !adt.data<@Nat>> -> () case (S(%n: !adt.data<@Nat>), Z) {
    graph.yield
  }
  func.return
}

// Complete, though no case fits everything.
// CHECK-LABEL: @complete
func.func @complete(%b: !adt.data<@Box, !adt.data<@Box, !adt.data<@Box, i64>>>, %l: !adt.data<@List, i64>, %u: tuple<>, %v: !adt.data<@Void>) {
  adt.match %b : !adt.data<@Box, !adt.data<@Box, !adt.data<@Box, i64>>> -> () case Box(Box(Box(_))) {
    graph.yield
  }
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_, Nil) {
    graph.yield
  } case Cons(_, Cons(_, Nil)) {
    graph.yield
  } case Nil {
    graph.yield
  } case Cons(_, Cons(_, _)) {
    graph.yield
  }
  adt.match %u : tuple<> -> () case () {
    graph.yield
  }
  // CHECK: adt.match %v : !adt.data<@Void> -> ()
  adt.match %v : !adt.data<@Void> -> ()
  func.return
}

// CHECK-LABEL: @uses
func.func @uses(%l: !adt.data<@List, i64>) {
  // CHECK: graph.function @List::@Cons<i64> : (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  %c = graph.function @List::@Cons<i64> : (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  // CHECK: graph.call @length<i64>(%l) : (!adt.data<@List, i64>) -> tensor<i64>
  %n = graph.call @length<i64>(%l) : (!adt.data<@List, i64>) -> tensor<i64>
  // CHECK: graph.lambda self %[[F:.*]] (%[[M:.*]]: tensor<i64>) -> (tensor<i64>) {
  // CHECK-NEXT: graph.call %[[F]](%[[M]]) : (tensor<i64>) -> tensor<i64>
  %f = graph.lambda self %g (%m: tensor<i64>) -> (tensor<i64>) {
    %k = graph.call %g(%m) : (tensor<i64>) -> tensor<i64>
    graph.yield %k : tensor<i64>
  }
  func.return
}
// CHECK-LABEL: @returns_a_function() -> ((i64) -> i64)
func.func @returns_a_function() -> ((i64) -> i64) {
  %f = graph.function @id<i64> : (i64) -> i64
  func.return %f : (i64) -> i64
}
