// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// Lists without an end.
// expected-remark: @Stream has no finite value
adt.data @Stream<"A"> {
  adt.constructor @More(!graph.var<"A">, !adt.data<@Stream, !graph.var<"A">>)
}
// Of a value that needs a stream there is none either; by way of a list there is.
// expected-remark: @Channel has no finite value
adt.data @Channel {
  adt.constructor @Of(tuple<i64, !adt.data<@Stream, i64>>)
}
adt.data @Channels {
  adt.constructor @All(!adt.data<@List, !adt.data<@Channel>>)
}
adt.data @Box<"A"> {
  adt.constructor @Box(!graph.var<"A">)
}
// expected-remark: @Boxed has no finite value
adt.data @Boxed {
  adt.constructor @Again(!adt.data<@Box, !adt.data<@Boxed>>)
}
// -----
func.func @covered(%l: !adt.data<@List, i64>) {
  // expected-warning: case 2 can never be reached: case 1 covers it
  adt.match %l : !adt.data<@List, i64> -> () case _ {
    graph.yield
  } case Nil {
    graph.yield
  }
  func.return
}
// -----
func.func @together(%l: !adt.data<@List, i64>) {
  // expected-warning: case 3 can never be reached: the cases before cover it together
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_, _) {
    graph.yield
  } case Nil {
    graph.yield
  } case _ {
    graph.yield
  }
  func.return
}
// -----
func.func @fine(%l: !adt.data<@List, i64>) {
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_, Nil) {
    graph.yield
  } case Cons(_, Cons(_, Nil)) {
    graph.yield
  } case Nil {
    graph.yield
  } case Cons(_, Cons(_, _)) {
    graph.yield
  }
  func.return
}
