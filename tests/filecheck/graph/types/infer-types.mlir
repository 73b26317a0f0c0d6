// RUN: stepwell-opt %s -p link-prelude,infer-types | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt -p link-prelude,infer-types,infer-types | filecheck %s

// A hole of which a later use tells: extents flow backward through an elementwise op, forward to the sum.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: %h: tensor<10x1x1xf32>
func.func @broadcast(%x: tensor<10x20xf32>, %h: !graph.hole<"h">) -> !graph.hole<"y"> {
  // CHECK: graph.add %x, %h : (tensor<10x20xf32>, tensor<10x1x1xf32>) -> tensor<10x10x20xf32>
  %y = graph.add %x, %h : (tensor<10x20xf32>, !graph.hole<"h">) -> !graph.hole<"y">
  %z = graph.neg %h : !graph.hole<"h"> -> tensor<10x1x1xf32>
  func.return %y : !graph.hole<"y">
}
// A chain whose types are known at its end alone; a symbol is moved as a number is.
// CHECK-LABEL: func.func @backward
// CHECK-SAME: %x: tensor<3x?xi32, #graph.dims<[3, "N"]>>
func.func @backward(%x: !graph.hole<"x">) -> tensor<?x3xf32, #graph.dims<["N", 3]>> {
  // CHECK: graph.neg %x : tensor<3x?xi32, #graph.dims<[3, "N"]>>
  %a = graph.neg %x : !graph.hole<"x"> -> !graph.hole<"a">
  // CHECK: graph.transpose %a perm [1, 0] : tensor<3x?xi32, #graph.dims<[3, "N"]>> -> tensor<?x3xi32, #graph.dims<["N", 3]>>
  %t = graph.transpose %a perm [1, 0] : !graph.hole<"a"> -> !graph.hole<"t">
  %i = graph.constant dense<1> : tensor<i32>
  // CHECK: graph.reverse %t axes [1] : tensor<?x3xi32
  %v = graph.reverse %t axes [1] : !graph.hole<"t"> -> !graph.hole<"v">
  %s = graph.add %t, %i : (!graph.hole<"t">, tensor<i32>) -> !graph.hole<"s">
  // CHECK: graph.cast %t to f32 {{.*}} : tensor<?x3xi32, #graph.dims<["N", 3]>> ->
  %c = graph.cast %t to f32 saturate true round "nearest" : !graph.hole<"t"> -> !graph.hole<"c">
  func.return %c : !graph.hole<"c">
}
// A hole as an element type, a contracted extent, a bias.
// CHECK-LABEL: func.func @dense
// CHECK-SAME: %w: tensor<8x5xf32>, %b: tensor<5xf32>
func.func @dense(%x: tensor<2x8xf32>, %w: tensor<8x5x!graph.hole<"e">>, %b: !graph.hole<"b">) -> tensor<2x5xf32> {
  // CHECK: graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x5xf32>) -> tensor<2x5xf32>
  %p = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x5x!graph.hole<"e">>) -> !graph.hole<"p">
  %y = graph.add %p, %b : (!graph.hole<"p">, !graph.hole<"b">) -> tensor<2x5xf32>
  %n = graph.neg %b : !graph.hole<"b"> -> tensor<5xf32>
  func.return %y : tensor<2x5xf32>
}
// The result of a recursive function comes from the case that does not call it; type arguments are found.
// CHECK-LABEL: func.func private @count
// CHECK-SAME: -> tensor<i64>
func.func private @count(%l: !adt.data<@List, !graph.var<"A">>) -> !graph.hole<"r"> attributes {graph.type_params = #graph.params<["A"]>} {
  // CHECK: case Cons(_, %t: !adt.data<@List, !graph.var<"A">>)
  %m = adt.match %l : !adt.data<@List, !graph.var<"A">> -> (!graph.hole<"m">) case Cons(_, %t: !graph.hole<"t">) {
    // CHECK: graph.call @count<!graph.var<"A">>(%t)
    %n = graph.call @count(%t) : (!graph.hole<"t">) -> !graph.hole<"n">
    %one = graph.constant dense<1> : tensor<i64>
    %k = graph.add %n, %one : (!graph.hole<"n">, tensor<i64>) -> !graph.hole<"k">
    graph.yield %k : !graph.hole<"k">
  } case Nil {
    %z = graph.constant dense<0> : tensor<i64>
    graph.yield %z : tensor<i64>
  }
  func.return %m : !graph.hole<"m">
}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>) -> !graph.hole<"n"> {
  // CHECK: adt.make @List::@Nil() : () -> !adt.data<@List, tensor<4xf32>>
  %e = adt.make @List::@Nil() : () -> !graph.hole<"e">
  %l = adt.make @List::@Cons(%x, %e) : (tensor<4xf32>, !graph.hole<"e">) -> !graph.hole<"l">
  // CHECK: graph.lambda (%a: tensor<4xf32>) -> (tensor<4xi1>)
  %f = graph.lambda (%a: !graph.hole<"a">) -> (!graph.hole<"b">) {
    %b = graph.is_nan %a : !graph.hole<"a"> -> !graph.hole<"b">
    graph.yield %b : !graph.hole<"b">
  }
  // CHECK: graph.call @map<tensor<4xf32>, tensor<4xi1>>(%f, %l)
  %m = graph.call @map(%f, %l) : ((!graph.hole<"a">) -> !graph.hole<"b">, !graph.hole<"l">) -> !graph.hole<"m">
  // CHECK: graph.call @count<tensor<4xi1>>(%m)
  %n = graph.call @count(%m) : (!graph.hole<"m">) -> !graph.hole<"n">
  func.return %n : !graph.hole<"n">
}
// A function value with one hole for its type, a cell, a tuple, a branch and a loop.
// CHECK-LABEL: func.func @values
func.func @values(%c: tensor<i1>, %k: tensor<i64>, %x: tensor<4xf32>) -> !graph.hole<"r"> {
  // CHECK: graph.function @broadcast_of : (tensor<?xf32>) -> tensor<?xf32>
  %g = graph.function @broadcast_of : !graph.hole<"g">
  // CHECK: ref.new %x : tensor<4xf32> -> !ref.cell<tensor<4xf32>>
  %cell = ref.new %x : tensor<4xf32> -> !graph.hole<"cell">
  %v = ref.read %cell : !graph.hole<"cell"> -> !graph.hole<"v">
  %t = graph.tuple %v, %k : !graph.hole<"v">, tensor<i64>
  // CHECK: graph.get %t{{.*}} : tuple<tensor<4xf32>, tensor<i64>> -> tensor<4xf32>
  %u = graph.get %t [0] : tuple<!graph.hole<"v">, tensor<i64>> -> !graph.hole<"u">
  // CHECK: graph.if {{.*}} -> (tensor<4xf32>)
  %i = graph.if %c : tensor<i1> -> (!graph.hole<"i">) {
    graph.yield %u : !graph.hole<"u">
  } else {
    graph.yield %x : tensor<4xf32>
  }
  // CHECK: graph.for {{.*}} (%{{.*}} = %i : tensor<4xf32>) -> (tensor<4xf32>)
  %w = graph.for %n to %k (%a = %i : !graph.hole<"i">) -> (!graph.hole<"w">) {
    %d = graph.add %a, %a : (!graph.hole<"i">, !graph.hole<"i">) -> !graph.hole<"d">
    graph.yield %d : !graph.hole<"d">
  }
  // CHECK: graph.call @broadcast_of(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %r = graph.call @broadcast_of(%w) : (!graph.hole<"w">) -> !graph.hole<"r">
  func.return %r : !graph.hole<"r">
}
func.func private @broadcast_of(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>> {
  func.return %x : tensor<?xf32, #graph.dims<["N"]>>
}
// Symbols of a callee are its own: a call binds them, and computes sizes that are expressions of them.
// CHECK-LABEL: func.func @doubled
func.func @doubled(%x: tensor<?xf32, #graph.dims<["M"]>>, %z: tensor<3xf32>) -> !graph.hole<"z"> {
  // CHECK: graph.call @twice(%x) : {{.*}} -> tensor<?xf32, #graph.dims<["2 * M"]>>
  %y = graph.call @twice(%x) : (tensor<?xf32, #graph.dims<["M"]>>) -> !graph.hole<"y">
  // CHECK: graph.call @twice(%z) : (tensor<3xf32>) -> tensor<6xf32>
  %w = graph.call @twice(%z) : (tensor<3xf32>) -> !graph.hole<"z">
  func.return %w : !graph.hole<"z">
}
func.func private @twice(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["2 * N"]>> {
  %y = graph.concat %x, %x axis 0 : (tensor<?xf32, #graph.dims<["N"]>>, tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["2 * N"]>>
  func.return %y : tensor<?xf32, #graph.dims<["2 * N"]>>
}
