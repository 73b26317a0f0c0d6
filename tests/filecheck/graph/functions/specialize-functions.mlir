// RUN: stepwell-opt %s -p specialize-functions,remove-unused-functions | filecheck %s
// RUN: stepwell-opt %s -p 'specialize-functions,inline,remove-unused-functions' | filecheck %s --check-prefix=INLINED

// The copy of @each calls the lambda's function by name; what the lambda captured is its last argument.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.closure
// CHECK: graph.call @each.main_lambda_0(%l, %k) : (!adt.data<@List, tensor<i64>>, tensor<i64>) -> !adt.data<@List, tensor<i64>>
// A function of the module captures nothing.
// CHECK: graph.call @each.double(%{{.*}}) : (!adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
// INLINED-NOT: graph.call @main_lambda_0
func.func @main(%l: !adt.data<@List, tensor<i64>>, %k: tensor<i64>) -> !adt.data<@List, tensor<i64>> {
  %f = graph.lambda (%x: tensor<i64>) -> (tensor<i64>) {
    %y = graph.add %x, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %y : tensor<i64>
  }
  %m = graph.call @each(%f, %l) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
  %g = graph.function @double : (tensor<i64>) -> tensor<i64>
  %n = graph.call @each(%g, %m) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
  %o = graph.call @nested(%n, %k) : (!adt.data<@List, tensor<i64>>, tensor<i64>) -> !adt.data<@List, tensor<i64>>
  func.return %o : !adt.data<@List, tensor<i64>>
}
func.func private @double(%x: tensor<i64>) -> tensor<i64> {
  %y = graph.add %x, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}
// CHECK-LABEL: func.func private @each.main_lambda_0(
// CHECK-SAME: %[[L:.*]]: !adt.data<@List, tensor<i64>>, %k: tensor<i64>)
// CHECK: case Cons(%[[X:.*]]: tensor<i64>, %[[T:.*]]: !adt.data<@List, tensor<i64>>) {
// CHECK: graph.call @main_lambda_0(%k, %[[X]])
// CHECK: graph.call @each.main_lambda_0(%[[T]], %k)
// CHECK-LABEL: func.func private @each.double(
// CHECK: graph.call @double(
// CHECK: graph.call @each.double(
func.func private @each(%f: (tensor<i64>) -> tensor<i64>, %l: !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>> {
  %r = adt.match %l : !adt.data<@List, tensor<i64>> -> (!adt.data<@List, tensor<i64>>) case Cons(%x: tensor<i64>, %t: !adt.data<@List, tensor<i64>>) {
    %y = graph.call %f(%x) : (tensor<i64>) -> tensor<i64>
    %u = graph.call @each(%f, %t) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
    %c = adt.make @List::@Cons(%y, %u) : (tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
    graph.yield %c : !adt.data<@List, tensor<i64>>
  } case Nil {
    %c = adt.make @List::@Nil() : () -> !adt.data<@List, tensor<i64>>
    graph.yield %c : !adt.data<@List, tensor<i64>>
  }
  func.return %r : !adt.data<@List, tensor<i64>>
}
// A function value that captures known functions is known as a whole: one copy, and none for what is inside.
// CHECK-NOT: func.func private @each.nested_lambda_0(
// CHECK-LABEL: func.func private @each.nested_lambda_0.nested_lambda_1(
// CHECK: graph.call @nested_lambda_0.nested_lambda_1(%{{.*}}, %k)
// CHECK-LABEL: func.func private @nested(
// CHECK: graph.call @each.nested_lambda_0.nested_lambda_1(%l, %k)
// CHECK-LABEL: func.func private @nested_lambda_0.nested_lambda_1(
// CHECK: graph.call @nested_lambda_1(
func.func private @nested(%l: !adt.data<@List, tensor<i64>>, %k: tensor<i64>) -> !adt.data<@List, tensor<i64>> {
  %f = graph.lambda (%x: tensor<i64>) -> (tensor<i64>) {
    %y = graph.add %x, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %y : tensor<i64>
  }
  %g = graph.lambda (%x: tensor<i64>) -> (tensor<i64>) {
    %y = graph.call %f(%x) : (tensor<i64>) -> tensor<i64>
    %z = graph.neg %y : tensor<i64> -> tensor<i64>
    graph.yield %z : tensor<i64>
  }
  %m = graph.call @each(%g, %l) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
  func.return %m : !adt.data<@List, tensor<i64>>
}
