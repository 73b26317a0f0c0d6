// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: @List does not declare the type variable B
adt.data @List<"A"> {
  adt.constructor @Cons(!graph.var<"B">)
}
// -----
// expected-error: a constructor of @Two is defined twice
adt.data @Two {
  adt.constructor @A()
  adt.constructor @A()
}
// -----
func.func @constructor_c1() {
  // expected-error: a constructor must be inside of an adt.data
  adt.constructor @A()
  func.return
}
// -----
func.func @unknown_data() {
  // expected-error: there is no data type @Lisp
  %l = adt.make @Lisp::@Nil() : () -> !adt.data<@Lisp, i64>
  func.return
}
// -----
func.func @arguments() {
  // expected-error: @List takes 1 type arguments, found 2
  %l = adt.make @List::@Nil() : () -> !adt.data<@List, i64, i64>
  func.return
}
// -----
func.func @make_c1_constructor() {
  // expected-error: @Option::@None is no constructor of !adt.data<@List, i64>
  %l = adt.make @Option::@None() : () -> !adt.data<@List, i64>
  func.return
}
// -----
func.func @unknown_constructor() {
  // expected-error: @List has no constructor Nul: it has Cons, Nil
  %l = adt.make @List::@Nul() : () -> !adt.data<@List, i64>
  func.return
}
// -----
func.func @make_c2_fields(%x: tensor<f32>, %l: !adt.data<@List, i64>) {
  // expected-error: Cons of this type is made by (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>, found (tensor<f32>, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  %m = adt.make @List::@Cons(%x, %l) : (tensor<f32>, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  func.return
}
// -----
func.func @match_unknown_constructor(%l: !adt.data<@List, i64>) {
  // expected-error: @List has no constructor None: it has Cons, Nil
  adt.match %l : !adt.data<@List, i64> -> () case None {
    graph.yield
  } case _ {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c1_fields(%l: !adt.data<@List, i64>) {
  // expected-error: Cons has 2 fields, the pattern 1
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_) {
    graph.yield
  } case _ {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c1_kind(%l: !adt.data<@List, i64>) {
  // expected-error: the pattern is of a tuple, the value has type !adt.data<@List, i64>
  adt.match %l : !adt.data<@List, i64> -> () case (_, _) {
    graph.yield
  } case _ {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c2_bound(%l: !adt.data<@List, i64>) {
  // expected-error: case 1 binds values of types i64, its names have tensor<f32>
  adt.match %l : !adt.data<@List, i64> -> () case Cons(%x: tensor<f32>, _) {
    graph.yield
  } case _ {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c3_yield(%l: !adt.data<@List, i64>) {
  // expected-error: expected 1 yielded values, found 0
  %r = adt.match %l : !adt.data<@List, i64> -> (i64) case _ {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c3_type(%l: !adt.data<@List, i64>, %x: tensor<f32>) {
  // expected-error: case 1 yields tensor<f32> where the result is i64
  %r = adt.match %l : !adt.data<@List, i64> -> (i64) case _ {
    graph.yield %x : tensor<f32>
  }
  func.return
}
// -----
func.func @match_c4_nothing(%l: !adt.data<@List, i64>) {
  // expected-error: match does not cover _
  adt.match %l : !adt.data<@List, i64> -> ()
  func.return
}
// -----
func.func @match_c4_two(%l: !adt.data<@List, i64>) {
  // expected-error: match does not cover Nil, Cons(_, Nil)
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_, Cons(_, _)) {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c4_middle(%l: !adt.data<@List, i64>) {
  // expected-error: match does not cover Cons(_, Cons(_, Nil))
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_, Nil) {
    graph.yield
  } case Nil {
    graph.yield
  } case Cons(_, Cons(_, Cons(_, _))) {
    graph.yield
  }
  func.return
}
// -----
func.func @match_c4_pairs(%l: tuple<!adt.data<@List, i64>, !adt.data<@List, i64>>) {
  // expected-error: match does not cover (Nil, Cons(_, _))
  adt.match %l : tuple<!adt.data<@List, i64>, !adt.data<@List, i64>> -> () case (Cons(_, _), _) {
    graph.yield
  } case (_, Nil) {
    graph.yield
  }
  func.return
}
// -----
func.func @kinds(%x: tensor<!graph.var<"E">>) attributes {graph.type_params = #graph.params<["E": any]>} {
  // expected-error: element type must be a float, found the variable !graph.var<"E"> of kind any
  %y = graph.exp %x : tensor<!graph.var<"E">> -> tensor<!graph.var<"E">>
  func.return
}
