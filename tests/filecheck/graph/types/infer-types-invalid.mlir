// RUN: stepwell-opt %s -p link-prelude,infer-types --split-input-file --verify-diagnostics

// Broadcasting says nothing of the extents of %h.
// expected-error: 1 value has no type
func.func @unused(%x: tensor<4xf32>, %h: !graph.hole<"h">) -> tensor<4xf32> {
  %y = graph.add %x, %h : (tensor<4xf32>, !graph.hole<"h">) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// -----
// expected-error: 2 values have no type
func.func @nowhere(%h: !graph.hole<"h">) -> tensor<i64> {
  %y = graph.neg %h : !graph.hole<"h"> -> !graph.hole<"h">
  %c = graph.constant dense<0> : tensor<i64>
  func.return %c : tensor<i64>
}
// -----
func.func @elements(%x: tensor<4xf32>, %i: tensor<4xi32>, %h: !graph.hole<"h">) -> tensor<4xf32> {
  %y = graph.add %h, %x : (!graph.hole<"h">, tensor<4xf32>) -> tensor<4xf32>
  // expected-error: graph.add: one type would be both i32 and f32
  %z = graph.add %h, %i : (!graph.hole<"h">, tensor<4xi32>) -> tensor<4xi32>
  func.return %y : tensor<4xf32>
}
// -----
func.func @extents(%h: !graph.hole<"h">, %x: tensor<4xf32>) -> tensor<5xf32> {
  %y = graph.neg %h : !graph.hole<"h"> -> tensor<4xf32>
  // expected-error: graph.relu: one type would be both tensor<5xf32> and tensor<4xf32>
  %z = graph.relu %h : !graph.hole<"h"> -> tensor<5xf32>
  func.return %z : tensor<5xf32>
}
// -----
func.func @symbols(%h: !graph.hole<"h">, %x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["M"]>> {
  %y = graph.neg %h : !graph.hole<"h"> -> tensor<?xf32, #graph.dims<["N"]>>
  // expected-error: graph.relu: one type would be both
  %z = graph.relu %h : !graph.hole<"h"> -> tensor<?xf32, #graph.dims<["M"]>>
  func.return %z : tensor<?xf32, #graph.dims<["M"]>>
}
// -----
func.func @inside(%f: !graph.hole<"f">, %x: !graph.hole<"a">) -> tensor<i64> {
  %q = graph.call %f(%x) : (!graph.hole<"a">) -> tensor<i64>
  %l = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.hole<"a">>
  // expected-error: a type inside itself: _ would be !adt.data<@List, _>
  %r = graph.call %f(%l) : (!adt.data<@List, !graph.hole<"a">>) -> tensor<i64>
  func.return %r : tensor<i64>
}
// -----
func.func @values(%h: !graph.hole<"h">) -> tensor<3xf32> {
  %y = graph.transpose %h perm [1, 0] : !graph.hole<"h"> -> tensor<2x3xf32>
  // expected-error: graph.neg: one type would be both tensor<3xf32> and tensor<3x2xf32>
  %z = graph.neg %h : !graph.hole<"h"> -> tensor<3xf32>
  func.return %z : tensor<3xf32>
}
// -----
func.func @returned(%x: tensor<4xf32>) -> !graph.hole<"r"> {
  // expected-error: the function has 1 results, 2 values are returned
  func.return %x, %x : tensor<4xf32>, tensor<4xf32>
}
// -----
func.func @called(%x: tensor<4xf32>) -> !graph.hole<"r"> {
  %l = adt.make @List::@Nil() : () -> !graph.hole<"l">
  // expected-error: 1 type arguments are needed, found 2
  %r = graph.call @length<tensor<4xf32>, tensor<4xf32>>(%l) : (!graph.hole<"l">) -> !graph.hole<"r">
  func.return %r : !graph.hole<"r">
}
// -----
func.func @symbol(%x: tensor<4xf32>) -> !graph.hole<"r"> {
  // expected-error: the module has no function @nothing
  %r = graph.call @nothing(%x) : (tensor<4xf32>) -> !graph.hole<"r">
  func.return %r : !graph.hole<"r">
}
// -----
func.func private @phantom(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.type_params = #graph.params<["A"]>} {
  func.return %x : tensor<4xf32>
}
func.func @arguments(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = graph.neg %x : tensor<4xf32> -> !graph.hole<"h">
  // expected-error: graph.call has an unknown type in a property
  %y = graph.call @phantom(%h) : (!graph.hole<"h">) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// -----
// expected-error: func.func has an unknown type in a property
func.func private @declared(!graph.hole<"h">) -> tensor<4xf32>
// -----
adt.data @Box {
  // expected-error: adt.constructor has an unknown type in a property
  adt.constructor @Box(!graph.hole<"t">)
}
func.func @field(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = adt.make @Box::@Box(%x) : (tensor<4xf32>) -> !graph.hole<"h">
  func.return %x : tensor<4xf32>
}
// -----
// A constraint of an op that relates no types is checked once its operands have theirs.
func.func @domain(%h: !graph.hole<"h">) -> tensor<4xi32> {
  // expected-error: graph.floor: element type must be a float, found i32
  %f = graph.floor %h : !graph.hole<"h"> -> !graph.hole<"f">
  %y = graph.neg %h : !graph.hole<"h"> -> tensor<4xi32>
  func.return %y : tensor<4xi32>
}
// -----
// An open type is no variable where an op needs to know it, or where the function around does not name it.
// expected-error: 2 values have no type
func.func private @needed(%h: !graph.hole<"h">) -> !graph.hole<"h"> {
  %y = graph.neg %h : !graph.hole<"h"> -> !graph.hole<"h">
  func.return %y : !graph.hole<"h">
}
// -----
func.func private @unnamed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: 1 value has no type
  %n = adt.make @List::@Nil() : () -> !adt.data<@List, !graph.hole<"a">>
  func.return %x : tensor<4xf32>
}
// -----
// A lambda that sees a value from outside has one type: its uses have to agree.
func.func @captures(%x: i64, %y: tensor<4xf32>, %z: i64) -> (i64, tensor<4xf32>) {
  %f = graph.lambda (%a: !graph.hole<"a">) -> (!graph.hole<"a">) {
    %t = graph.tuple %a, %z : !graph.hole<"a">, i64
    graph.yield %a : !graph.hole<"a">
  }
  %p = graph.call %f(%x) : (i64) -> i64
  // expected-error: graph.call: one type would be both
  %q = graph.call %f(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %p, %q : i64, tensor<4xf32>
}
