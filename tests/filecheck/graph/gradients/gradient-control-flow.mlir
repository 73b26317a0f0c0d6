// RUN: stepwell-opt %s -p gradient --split-input-file | filecheck %s

// An arm is computed again within the branch on the same condition.
// CHECK-LABEL: func.func private @branch.vjp_0(
// CHECK-SAME: %[[DY:[a-z0-9_]*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[Y:.*]] = graph.if %c
// CHECK: %[[DX:.*]] = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
// CHECK-NEXT: %[[E:.*]] = graph.exp %x
// CHECK-NEXT: %[[D:.*]] = graph.multiply %[[DY]], %[[E]]
// CHECK-NEXT: graph.yield %[[D]]
// CHECK-NEXT: } else {
// CHECK-NEXT: graph.yield %[[DY]]
// CHECK: func.return %[[Y]], %[[DX]]
func.func @branch(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
    %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func @main() {
  %g = graph.vjp @branch wrt [0]
    : (tensor<4xf32>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
// -----
// What iterations begin with is stacked by the forward loop, and read from the last row on.
// CHECK-LABEL: func.func private @loop.vjp_0(
// CHECK: %[[T:.*]] = graph.full %{{.*}} shape <[3, 4]>
// CHECK: %{{.*}}, %[[S:.*]] = graph.for %[[I:.*]] to %[[N:.*]] (%[[A:.*]] = %x : tensor<4xf32>, %[[B:.*]] = %[[T]] : tensor<3x4xf32>)
// CHECK: graph.bind_sizes %[[I]] names ["[[SIZE:.*]]"]
// CHECK: %[[ROW:.*]] = graph.expand_dims %[[A]] axes [0]
// CHECK: graph.insert_slice %[[ROW]] into %[[B]] at <["[[SIZE]]", 0]>
// CHECK: graph.for %[[J:.*]] to %[[N]] (%[[D:.*]] = %{{.*}} : tensor<4xf32>)
// CHECK: %[[L:.*]] = graph.subtract %[[N]], %{{.*}}
// CHECK: %[[K:.*]] = graph.subtract %[[L]], %[[J]]
// CHECK: %[[G:.*]] = graph.gather %[[S]], %[[K]] axis 0
// CHECK: %[[C:.*]] = graph.cos %[[G]]
// CHECK: %[[M:.*]] = graph.multiply %[[D]], %[[C]]
// CHECK: graph.yield %[[M]]
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.constant dense<3> : tensor<i64>
  %y = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %b = graph.sin %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func @main() {
  %g = graph.vjp @loop wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
// -----
// A function gives its derivative, which is called where the function is.
// CHECK-LABEL: func.func private @caller.vjp_0(
// CHECK: %[[Y:.*]], %[[D:.*]] = graph.call @own_vjp(%{{.*}}, %{{.*}})
// CHECK: graph.neg %[[D]]
func.func @own(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.derivative = @own_vjp} {
  %y = graph.floor %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @own_vjp(%x: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = graph.floor %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y, %dy : tensor<4xf32>, tensor<4xf32>
}
func.func @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  %n = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %y = graph.call @own(%n) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @main() {
  %g = graph.vjp @caller wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
