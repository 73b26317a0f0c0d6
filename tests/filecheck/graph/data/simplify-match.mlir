// RUN: stepwell-opt %s -p simplify-match | filecheck %s
// RUN: stepwell-opt %s -p simplify-match,simplify-match | filecheck %s

// The second case is reached by two tests, and is more than one op: a lambda. The pair is in sight.
// CHECK-LABEL: @pairs
// CHECK: %[[CASE:.*]] = graph.lambda (%{{.*}}: !adt.data<@List, i64>) -> (tensor<i64>) {
// CHECK-NEXT: graph.call @length<i64>
// CHECK-NEXT: graph.neg
// CHECK: adt.match %xs : !adt.data<@List, i64> -> (tensor<i64>) case Cons(_, _) {
// CHECK-NEXT: adt.match %ys : !adt.data<@List, i64> -> (tensor<i64>) case Cons(_, _) {
// CHECK-NEXT: graph.yield %z : tensor<i64>
// CHECK-NEXT: } case _ {
// CHECK-NEXT: graph.call %[[CASE]](%xs) : (!adt.data<@List, i64>) -> tensor<i64>
// CHECK: } case _ {
// CHECK-NEXT: graph.call %[[CASE]](%xs) : (!adt.data<@List, i64>) -> tensor<i64>
// CHECK-NOT: graph.neg
func.func @pairs(%xs: !adt.data<@List, i64>, %ys: !adt.data<@List, i64>, %z: tensor<i64>) -> tensor<i64> {
  %p = graph.tuple %xs, %ys : !adt.data<@List, i64>, !adt.data<@List, i64>
  %r = adt.match %p : tuple<!adt.data<@List, i64>, !adt.data<@List, i64>> -> (tensor<i64>) case (Cons(_, _), Cons(_, _)) {
    graph.yield %z : tensor<i64>
  } case (%a: !adt.data<@List, i64>, _) {
    %n = graph.call @length<i64>(%a) : (!adt.data<@List, i64>) -> tensor<i64>
    %m = graph.neg %n : tensor<i64> -> tensor<i64>
    graph.yield %m : tensor<i64>
  }
  func.return %r : tensor<i64>
}

// One op is written at both places; fields of a tuple that comes from outside are read.
// CHECK-LABEL: @short
// CHECK-NOT: graph.lambda
// CHECK: %[[A:.*]] = graph.get %p[0]
// CHECK-NEXT: adt.match %[[A]] : {{.*}} case Nil {
// CHECK-NEXT: %[[B:.*]] = graph.get %p[1]
// CHECK-NEXT: adt.match %[[B]] : {{.*}} case Nil {
// CHECK-NEXT: graph.yield %z
// CHECK-NEXT: } case _ {
// CHECK-NEXT: graph.constant dense<1>
// CHECK: } case _ {
// CHECK-NEXT: graph.constant dense<1>
func.func @short(%p: tuple<!adt.data<@List, i64>, !adt.data<@List, i64>>, %z: tensor<i64>) -> tensor<i64> {
  %r = adt.match %p : tuple<!adt.data<@List, i64>, !adt.data<@List, i64>> -> (tensor<i64>) case (Nil, Nil) {
    graph.yield %z : tensor<i64>
  } case _ {
    %c = graph.constant dense<1> : tensor<i64>
    graph.yield %c : tensor<i64>
  }
  func.return %r : tensor<i64>
}

// Both rows need the second part, and only the first one needs the first.
// CHECK-LABEL: @needed_first
// CHECK: %[[B:.*]] = graph.get %p[1]
// CHECK-NEXT: adt.match %[[B]] : !adt.data<@Nat>
// CHECK-NEXT: %[[A:.*]] = graph.get %p[0]
// CHECK-NEXT: adt.match %[[A]] : !adt.data<@Nat>
func.func @needed_first(%p: tuple<!adt.data<@Nat>, !adt.data<@Nat>>, %x: i64, %y: i64, %z: i64) -> i64 {
  %r = adt.match %p : tuple<!adt.data<@Nat>, !adt.data<@Nat>> -> (i64) case (Z, Z) {
    graph.yield %x : i64
  } case (_, S(_)) {
    graph.yield %y : i64
  } case _ {
    graph.yield %z : i64
  }
  func.return %r : i64
}

// A partial match stays partial where cases are missing; the last case can never be reached.
// CHECK-LABEL: @partial
// CHECK: adt.match partial %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, %[[T:.*]]: !adt.data<@List, i64>) {
// CHECK-NEXT: adt.match %[[T]] : !adt.data<@List, i64> -> (i64) case Cons(_, _) {
// CHECK-NEXT: graph.yield %x : i64
// CHECK-NEXT: } case Nil {
// CHECK-NEXT: graph.yield %a : i64
// CHECK-NOT: case
// CHECK-NOT: %y : i64
func.func @partial(%l: !adt.data<@List, i64>, %x: i64, %y: i64) -> i64 {
  %r = adt.match partial %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, Nil) {
    graph.yield %a : i64
  } case Cons(_, _) {
    graph.yield %x : i64
  } case Cons(_, Cons(_, _)) {
    graph.yield %y : i64
  }
  func.return %r : i64
}

// CHECK-LABEL: @whole
// CHECK-NEXT: func.return %x : i64
func.func @whole(%x: i64) -> i64 {
  %r = adt.match %x : i64 -> (i64) case %y: i64 {
    graph.yield %y : i64
  }
  func.return %r : i64
}
// CHECK-LABEL: @nothing_fits
// CHECK: adt.match partial %n : !adt.data<@Nat> -> (i64)
// CHECK-NEXT: func.return
func.func @nothing_fits() -> i64 {
  %n = adt.make @Nat::@Z() : () -> !adt.data<@Nat>
  %r = adt.match partial %n : !adt.data<@Nat> -> (i64) case S(%m: !adt.data<@Nat>) {
    %s = graph.call @nothing_fits() : () -> i64
    graph.yield %s : i64
  }
  func.return %r : i64
}
