// RUN: stepwell-opt %s -p unmatched-cases 2>&1 | filecheck %s
// RUN: stepwell-opt %s -p unmatched-cases{json} 2>&1 | filecheck %s --check-prefix=JSON

// CHECK: @some: a match of 2 cases at {{.*}}unmatched-cases.mlir:9:3 does not cover Nil, Cons(_, Cons(_, Nil))
// CHECK-NEXT: @all: a match of 3 cases at {{.*}}:20:3 covers every value; never reached: 2
// JSON: [{"function": "some", "where": "{{.*}}:9:3", "cases": 2, "unmatched": ["Nil", "Cons(_, Cons(_, Nil))"], "unreachable": []},

func.func @some(%l: !adt.data<@List, i64>) {
  adt.match partial %l : !adt.data<@List, i64> -> () case Cons(_, Nil) {
    graph.yield
  } case Cons(_, Cons(_, Cons(_, _))) {
    graph.yield
  }
  func.return
}
func.func @none() {
  func.return
}
func.func @all(%l: !adt.data<@List, i64>) {
  adt.match %l : !adt.data<@List, i64> -> () case Cons(_, _) {
    graph.yield
  } case Cons(_, Nil) {
    graph.yield
  } case Nil {
    graph.yield
  }
  func.return
}
