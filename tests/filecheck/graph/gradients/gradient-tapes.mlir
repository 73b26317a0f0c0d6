// RUN: stepwell-opt %s -p gradient --split-input-file | filecheck %s

// A function that calls itself leaves a tape, as deep as the recursion; the second function takes it.
// CHECK-LABEL: adt.data @power.tape {
// CHECK-NEXT: adt.constructor @Then()
// CHECK-NEXT: adt.constructor @Else(tensor<f64>, tensor<f64>, !adt.data<@power.tape>)
// CHECK-LABEL: func.func private @power.gradient_0(
// CHECK: %[[Y:.*]], %[[T:.*]] = graph.call @power.forward(%x, %n)
// CHECK: %[[D:.*]] = graph.call @power.backward(%[[T]], %{{.*}})
// CHECK: func.return %[[Y]], %[[D]]
// CHECK-LABEL: func.func private @power.forward(
// CHECK-SAME: -> (tensor<f64>, !adt.data<@power.tape>)
// CHECK: graph.if %done : tensor<i1> -> (tensor<f64>, !adt.data<@power.tape>)
// CHECK: adt.make @power.tape::@Then()
// CHECK: %[[R:.*]], %[[I:.*]] = graph.call @power.forward(%x, %m)
// CHECK: adt.make @power.tape::@Else(%[[R]], %x, %[[I]])
// CHECK-LABEL: func.func private @power.backward(
// CHECK-SAME: %[[TAPE:[a-z0-9_]*]]: !adt.data<@power.tape>, %[[DY:[a-z0-9_]*]]: tensor<f64>) -> tensor<f64>
// CHECK: adt.match %[[TAPE]] : !adt.data<@power.tape> -> (tensor<f64>) case Then {
// CHECK: } case Else(%[[R2:.*]]: tensor<f64>, %[[X2:.*]]: tensor<f64>, %[[I2:.*]]: !adt.data<@power.tape>) {
// CHECK-NEXT: %[[A:.*]] = graph.multiply %[[DY]], %[[R2]]
// CHECK-NEXT: %[[DR:.*]] = graph.multiply %[[DY]], %[[X2]]
// CHECK-NEXT: %[[B:.*]] = graph.call @power.backward(%[[I2]], %[[DR]])
// CHECK-NEXT: %[[S:.*]] = graph.add %[[A]], %[[B]]
// CHECK-NEXT: graph.yield %[[S]]
func.func @power(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %y = graph.if %done : tensor<i1> -> (tensor<f64>) {
    %one = graph.constant dense<1.0> : tensor<f64>
    graph.yield %one : tensor<f64>
  } else {
    %k = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %r = graph.call @power(%x, %m) : (tensor<f64>, tensor<i64>) -> tensor<f64>
    %p = graph.multiply %x, %r : (tensor<f64>, tensor<f64>) -> tensor<f64>
    graph.yield %p : tensor<f64>
  }
  func.return %y : tensor<f64>
}
func.func @main() {
  %g = graph.gradient @power wrt [0] : (tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<f64>)
  func.return
}
// -----
// Cases without calls are computed again, on the value; a list of floats is its own tangent.
// CHECK-LABEL: func.func private @first.vjp_0(
// CHECK-SAME: %l: !adt.data<@List, tensor<f32>>, %[[DY:[a-z0-9_]*]]: tensor<f32>) -> (tensor<f32>, !adt.data<@List, tensor<f32>>)
// CHECK: %[[Y:.*]] = adt.match %l
// CHECK: %[[DL:.*]] = adt.match %l : !adt.data<@List, tensor<f32>> -> (!adt.data<@List, tensor<f32>>) case Cons(%[[X:.*]]: tensor<f32>, %[[T:.*]]: !adt.data<@List, tensor<f32>>) {
// CHECK: %[[E:.*]] = graph.exp %[[X]]
// CHECK: %[[D:.*]] = graph.multiply %[[DY]], %[[E]]
// CHECK: %[[Z:.*]] = graph.call @List.f32.zeros(%[[T]])
// CHECK: adt.make @List::@Cons(%[[D]], %[[Z]])
// CHECK: } case Nil {
// CHECK: adt.make @List::@Nil()
// CHECK-LABEL: func.func private @List.f32.zeros(
func.func @first(%l: !adt.data<@List, tensor<f32>>) -> tensor<f32> {
  %r = adt.match %l : !adt.data<@List, tensor<f32>> -> (tensor<f32>) case Cons(%x: tensor<f32>, _) {
    %e = graph.exp %x : tensor<f32> -> tensor<f32>
    graph.yield %e : tensor<f32>
  } case Nil {
    %z = graph.constant dense<0.0> : tensor<f32>
    graph.yield %z : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func @main() {
  %g = graph.vjp @first wrt [0] : (!adt.data<@List, tensor<f32>>, tensor<f32>) -> (tensor<f32>, !adt.data<@List, tensor<f32>>)
  func.return
}
// -----
// The tangent of data with integers is another data type; that of a tuple has `tuple<>` for them.
// CHECK-LABEL: adt.data @Item.tangent {
// CHECK-NEXT: adt.constructor @Item(tensor<f32>, tuple<>)
// CHECK-LABEL: func.func private @scale.vjp_0(
// CHECK-SAME: %[[DY:[a-z0-9_]*]]: tuple<tensor<f32>, tuple<>>) -> (tuple<tensor<f32>, tensor<i64>>, !adt.data<@Item.tangent>)
// CHECK: adt.match %{{.*}} : !adt.data<@Item> -> (!adt.data<@Item.tangent>) case Item(%[[X:.*]]: tensor<f32>, %{{.*}}: tensor<i64>) {
// CHECK: %[[D:.*]] = graph.get %[[DY]][0]
// CHECK: %[[A:.*]] = graph.multiply %[[D]], %[[X]]
// CHECK: %[[B:.*]] = graph.add
// CHECK: %[[U:.*]] = graph.tuple ()
// CHECK: adt.make @Item.tangent::@Item(%[[B]], %[[U]])
adt.data @Item {
  adt.constructor @Item(tensor<f32>, tensor<i64>)
}
func.func @scale(%i: !adt.data<@Item>) -> tuple<tensor<f32>, tensor<i64>> {
  %r = adt.match %i : !adt.data<@Item> -> (tuple<tensor<f32>, tensor<i64>>) case Item(%x: tensor<f32>, %n: tensor<i64>) {
    %y = graph.multiply %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %t = graph.tuple %y, %n : tensor<f32>, tensor<i64>
    graph.yield %t : tuple<tensor<f32>, tensor<i64>>
  }
  func.return %r : tuple<tensor<f32>, tensor<i64>>
}
func.func @main() {
  %g = graph.vjp @scale wrt [0] : (!adt.data<@Item>, tuple<tensor<f32>, tuple<>>) -> (tuple<tensor<f32>, tensor<i64>>, !adt.data<@Item.tangent>)
  func.return
}
// -----
// A loop that changes sizes is a function that calls itself; its tape has the sizes that the types speak of.
// CHECK-LABEL: func.func private @grows.gradient_0(
// CHECK: %[[Y:.*]], %[[T:.*]] = graph.call @grows.loop.forward(
// CHECK: graph.bind_sizes
// CHECK: graph.call @grows.loop.backward(%[[T]],
// CHECK-LABEL: func.func private @grows.loop.forward(
// CHECK: graph.extents <["n"]>
// CHECK-LABEL: func.func private @grows.loop.backward(
// CHECK: graph.bind_sizes %{{.*}} names ["n"]
func.func @grows(%x: tensor<1xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %y = graph.for %i to %n (%a = %x : tensor<1xf32> as tensor<?xf32, #graph.dims<["n"]>>) carries ["n"] (%s)
      -> (tensor<?xf32>) {
    %b = graph.concat %a, %x axis 0 : (tensor<?xf32, #graph.dims<["n"]>>, tensor<1xf32>)
      -> tensor<?xf32, #graph.dims<["n + 1"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["n + 1"]>>
  }
  func.return %y : tensor<?xf32>
}
func.func @main() {
  %g = graph.gradient @grows wrt [0] : (tensor<1xf32>, tensor<i64>) -> (tensor<?xf32>, tensor<1xf32>)
  func.return
}
