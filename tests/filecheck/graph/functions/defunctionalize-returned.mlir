// RUN: stepwell-opt %s -p defunctionalize | filecheck %s

// @main keeps its type: a function that it returns is a closure of the one that applies data.
// CHECK-LABEL: func.func @main(%x: tensor<i64>) -> ((tensor<i64>) -> tensor<i64>, tuple<tensor<i64>, (tensor<i64>) -> tensor<i64>>, !adt.data<@List, (tensor<i64>) -> tensor<i64>>) {
// CHECK: %f = adt.make @fn_0::@main_lambda_0(%x)
// CHECK: %[[L:.*]] = adt.make @List::@Cons(%f, %n) : (!adt.data<@fn_0>, !adt.data<@List, !adt.data<@fn_0>>) -> !adt.data<@List, !adt.data<@fn_0>>
// CHECK: %[[F:.*]] = graph.closure @apply_0(%f) : (!adt.data<@fn_0>) -> ((tensor<i64>) -> tensor<i64>)
// CHECK: %[[N:.*]] = graph.get %t[0] : tuple<tensor<i64>, !adt.data<@fn_0>> -> tensor<i64>
// CHECK: %[[D:.*]] = graph.get %t[1] :
// CHECK: %[[C:.*]] = graph.closure @apply_0(%[[D]])
// CHECK: %[[U:.*]] = graph.tuple %[[N]], %[[C]] : tensor<i64>, (tensor<i64>) -> tensor<i64>
// CHECK: %[[R:.*]] = graph.call @returned_0(%[[L]])
// CHECK: func.return %[[F]], %[[U]], %[[R]]
func.func @main(%x: tensor<i64>) -> ((tensor<i64>) -> tensor<i64>, tuple<tensor<i64>, (tensor<i64>) -> tensor<i64>>, !adt.data<@List, (tensor<i64>) -> tensor<i64>>) {
  %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    graph.yield %x : tensor<i64>
  }
  %t = graph.tuple %x, %f : tensor<i64>, (tensor<i64>) -> tensor<i64>
  %n = adt.make @List::@Nil() : () -> !adt.data<@List, (tensor<i64>) -> tensor<i64>>
  %l = adt.make @List::@Cons(%f, %n) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, (tensor<i64>) -> tensor<i64>>) -> !adt.data<@List, (tensor<i64>) -> tensor<i64>>
  func.return %f, %t, %l : (tensor<i64>) -> tensor<i64>, tuple<tensor<i64>, (tensor<i64>) -> tensor<i64>>, !adt.data<@List, (tensor<i64>) -> tensor<i64>>
}
// A list is converted by a function, cell for cell.
// CHECK-LABEL: func.func private @returned_0(
// CHECK: case Cons(%[[A:.*]]: !adt.data<@fn_0>, %[[B:.*]]: !adt.data<@List, !adt.data<@fn_0>>) {
// CHECK: graph.closure @apply_0(%[[A]])
// CHECK: graph.call @returned_0(%[[B]])
// CHECK: adt.make @List::@Cons(
