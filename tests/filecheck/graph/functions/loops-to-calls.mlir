// RUN: stepwell-opt %s -p loops-to-calls | filecheck %s
// RUN: stepwell-opt %s -p 'loops-to-calls{with-calls}' | filecheck %s --check-prefix=CALLS

// CALLS-LABEL: func.func @main(
// CALLS: graph.for
// CALLS: graph.call @main.loop(
// CALLS: func.func private @main.loop(

// CHECK-LABEL: func.func @main(
// CHECK: %[[ZERO:.*]] = graph.constant dense<0> : tensor<i64>
// CHECK: %y = graph.call @main.loop(%[[ZERO]], %n, %x, %s)
// CHECK: %z = graph.call @main.loop_0(%y, %n)
// CHECK-NOT: graph.for
func.func @main(%n: tensor<i64>, %x: tensor<?xf32, #graph.dims<["N"]>>, %s: tensor<f32>) -> tensor<?xf32, #graph.dims<["N"]>> {
  %y = graph.for %i to %n (%a = %x : tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
    %b = graph.multiply %a, %s : (tensor<?xf32, #graph.dims<["N"]>>, tensor<f32>) -> tensor<?xf32, #graph.dims<["N"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["N"]>>
  }
  %z = graph.while (%a = %y : tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
    %c = graph.call @again(%n) : (tensor<i64>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  } do (%b: tensor<?xf32, #graph.dims<["N"]>>) {
    %d = graph.exp %b : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
    graph.yield %d : tensor<?xf32, #graph.dims<["N"]>>
  }
  func.return %z : tensor<?xf32, #graph.dims<["N"]>>
}
// CHECK: func.func private @main.loop(%[[I:.*]]: tensor<i64>, %[[N:.*]]: tensor<i64>, %a: tensor<?xf32, #graph.dims<["N"]>>, %s: tensor<f32>)
// CHECK-NEXT: %[[C:.*]] = graph.less %[[I]], %[[N]]
// CHECK-NEXT: graph.if %[[C]]
// CHECK-NEXT: %b = graph.multiply %a, %s
// CHECK-NEXT: %[[ONE:.*]] = graph.constant dense<1>
// CHECK-NEXT: %[[J:.*]] = graph.add %[[I]], %[[ONE]]
// CHECK-NEXT: graph.call @main.loop(%[[J]], %[[N]], %b, %s)
// CHECK: } else {
// CHECK-NEXT: graph.yield %a
// CHECK: func.func private @main.loop_0(%b: tensor<?xf32, #graph.dims<["N"]>>, %n: tensor<i64>)
// CHECK-NEXT: %c = graph.call @again(%n)
// CHECK-NEXT: graph.if %c
// CHECK-NEXT: graph.exp %b
// CHECK-NEXT: graph.call @main.loop_0(%d, %n)
func.func private @again(tensor<i64>) -> tensor<i1>
