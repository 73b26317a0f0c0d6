// RUN: stepwell-opt %s -p link-prelude,infer-types --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p link-prelude,infer-types,infer-types,monomorphize --split-input-file | filecheck %s --check-prefix=MONO

// MONO-NOT: graph.type_params
// What nothing forces in a private function is a variable; uses get arguments, also of a complete caller.
// CHECK: func.func private @pair(%x: !graph.var<"T0">) -> tuple<!graph.var<"T0">, !graph.var<"T0">> attributes {graph.type_params = #graph.params<["T0"]>} {
func.func private @pair(%x: !graph.hole<"x">) -> !graph.hole<"r"> {
  %t = graph.tuple %x, %x : !graph.hole<"x">, !graph.hole<"x">
  func.return %t : tuple<!graph.hole<"x">, !graph.hole<"x">>
}
// Within a group all uses are at the same types.
// CHECK: func.func private @even_of(%f: (!graph.var<"T0">) -> !graph.var<"T0">, %l: !adt.data<@List, !graph.var<"T1">>, %z: !graph.var<"T0">) -> !graph.var<"T0"> attributes {graph.type_params = #graph.params<["T0", "T1"]>} {
// CHECK: graph.call @odd_of<!graph.var<"T0">, !graph.var<"T1">>(%f, %t, %z)
func.func private @even_of(%f: !graph.hole<"f">, %l: !graph.hole<"l">, %z: !graph.hole<"z">) -> !graph.hole<"r"> {
  %r = adt.match %l : !graph.hole<"l"> -> (!graph.hole<"m">) case Cons(%x: !graph.hole<"e">, %t: !graph.hole<"t">) {
    %s = graph.call @odd_of(%f, %t, %z) : (!graph.hole<"f">, !graph.hole<"t">, !graph.hole<"z">) -> !graph.hole<"s">
    graph.yield %s : !graph.hole<"s">
  } case Nil {
    graph.yield %z : !graph.hole<"z">
  }
  func.return %r : !graph.hole<"m">
}
// CHECK: func.func private @odd_of
// CHECK-SAME: graph.params<["T0", "T1"]>
func.func private @odd_of(%f: !graph.hole<"f">, %l: !graph.hole<"l">, %z: !graph.hole<"z">) -> !graph.hole<"r"> {
  %n = adt.make @List::@Nil() : () -> !graph.hole<"l">
  %s = graph.call @even_of(%f, %l, %z) : (!graph.hole<"f">, !graph.hole<"l">, !graph.hole<"z">) -> !graph.hole<"s">
  %q = graph.call %f(%s) : (!graph.hole<"s">) -> !graph.hole<"s">
  func.return %q : !graph.hole<"s">
}
// CHECK-LABEL: func.func @main
// CHECK: graph.call @pair<i64>(%x)
// CHECK: graph.call @pair<tensor<4xf32>>(%y) : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
func.func @main(%x: i64, %y: tensor<4xf32>) -> (tuple<i64, i64>, !graph.hole<"r">) {
  %a = graph.call @pair(%x) : (i64) -> tuple<i64, i64>
  %b = graph.call @pair(%y) : (tensor<4xf32>) -> !graph.hole<"r">
  func.return %a, %b : tuple<i64, i64>, !graph.hole<"r">
}
// CHECK-LABEL: func.func @complete
// CHECK: graph.call @pair<i64>(%x)
func.func @complete(%x: i64) -> tuple<i64, i64> {
  %a = graph.call @pair(%x) : (i64) -> tuple<i64, i64>
  func.return %a : tuple<i64, i64>
}
// -----
// A closed lambda at two types: a function with types of its own for each use.
// CHECK-LABEL: func.func @let(
// CHECK-NEXT: graph.call @let_lambda_0<i64>(%x) : (i64) -> i64
// CHECK-NEXT: graph.call @let_lambda_0<tensor<4xf32>>(%y)
// CHECK-NEXT: %[[F:.*]] = graph.function @let_lambda_0<i64> : (i64) -> i64
// CHECK-NEXT: graph.call @map<i64, i64>(%[[F]], %l)
func.func @let(%x: i64, %y: tensor<4xf32>, %l: !adt.data<@List, i64>) -> (i64, tensor<4xf32>, !adt.data<@List, i64>) {
  %f = graph.lambda (%a: !graph.hole<"a">) -> (!graph.hole<"a">) {
    graph.yield %a : !graph.hole<"a">
  }
  %p = graph.call %f(%x) : (i64) -> i64
  %q = graph.call %f(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %m = graph.call @map(%f, %l) : ((!graph.hole<"a">) -> !graph.hole<"a">, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  func.return %p, %q, %m : i64, tensor<4xf32>, !adt.data<@List, i64>
}
// CHECK: func.func private @let_lambda_0(%a: !graph.var<"T0">) -> !graph.var<"T0">
// -----
// At one type it stays a lambda.
// CHECK-LABEL: func.func @once(
// CHECK-NEXT: graph.lambda (%a: i64) -> (i64)
func.func @once(%x: i64, %y: i64) -> (i64, i64) {
  %f = graph.lambda (%a: !graph.hole<"a">) -> (!graph.hole<"a">) {
    graph.yield %a : !graph.hole<"a">
  }
  %p = graph.call %f(%x) : (i64) -> i64
  %q = graph.call %f(%y) : (i64) -> i64
  func.return %p, %q : i64, i64
}
