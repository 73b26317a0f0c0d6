// RUN: stepwell-opt %s -p to-cps | filecheck %s
// RUN: stepwell-opt %s -p to-cps,un-cps | filecheck %s --check-prefix=DIRECT

// CHECK-LABEL: func.func private @f_cps(%x: tensor<i64>, %k: (tensor<i64>) -> !graph.var<"Ans">) -> !graph.var<"Ans">
// CHECK-NEXT: %y = graph.neg %x
// CHECK-NEXT: %[[A:.*]] = graph.call %k(%y)
// CHECK-NEXT: func.return %[[A]]

// Both arms call the one continuation of the branch; a constant is copied to where it is used.
// CHECK-LABEL: func.func @main_cps(%c: tensor<i1>, %x: tensor<i64>, %k: (tensor<i64>) -> !graph.var<"Ans">) -> !graph.var<"Ans">
// CHECK: %[[K:.*]] = graph.lambda (%[[R:.*]]: tensor<i64>) -> (!graph.var<"Ans">) {
// CHECK-NEXT: %[[A:.*]] = graph.call @main_cps_0<!graph.var<"Ans">>(%k, %[[R]])
// CHECK-NEXT: graph.yield %[[A]]
// CHECK: graph.if %c : tensor<i1> -> (!graph.var<"Ans">) {
// CHECK-NEXT: %[[L:.*]] = graph.lambda (%[[R:.*]]: tensor<i64>)
// CHECK-NEXT: graph.call @main_cps_1<!graph.var<"Ans">>(%x, %[[K]], %[[R]])
// CHECK: graph.call @f_cps<!graph.var<"Ans">>(%x, %[[L]])
// CHECK: } else {
// CHECK-NEXT: graph.call %[[K]](%x)

// A function value takes a continuation; so does one that stands for a constructor.
// CHECK-LABEL: func.func private @values_cps(%f: (tensor<i64>, (tensor<i64>) -> !graph.var<"Ans">) -> !graph.var<"Ans">, %x: tensor<i64>
// CHECK: %g = graph.function @f_cps<!graph.var<"Ans">> : (tensor<i64>, (tensor<i64>) -> !graph.var<"Ans">) -> !graph.var<"Ans">
// CHECK: %some = graph.lambda (%[[A:.*]]: tensor<i64>, %[[K:.*]]: (!adt.data<@Option, tensor<i64>>) -> !graph.var<"Ans">) -> (!graph.var<"Ans">) {
// CHECK-NEXT: %[[O:.*]] = adt.make @Option::@Some(%[[A]])
// CHECK-NEXT: graph.call %[[K]](%[[O]])
// CHECK: %h = graph.lambda (%a: tensor<i64>, %[[K:.*]]: (tensor<i64>) -> !graph.var<"Ans">)
// CHECK-NEXT: graph.call @outside(%a)
// CHECK-NEXT: graph.call %[[K]](

// CHECK-LABEL: func.func private @main_cps_0(%k: (tensor<i64>) -> !graph.var<"Ans">, %r: tensor<i64>)
// CHECK-NEXT: %two = graph.constant
// CHECK-NEXT: %s = graph.multiply %r, %two
// CHECK-NEXT: graph.call %k(%s)
// CHECK-LABEL: func.func private @main_cps_1(%x: tensor<i64>, %k: (tensor<i64>) -> !graph.var<"Ans">, %a: tensor<i64>)

// DIRECT-LABEL: func.func @main(%c: tensor<i1>, %x: tensor<i64>) -> tensor<i64> {
// DIRECT: %[[ID:.*]] = graph.lambda (%[[R:.*]]: tensor<i64>) -> (tensor<i64>) {
// DIRECT-NEXT: graph.yield %[[R]]
// DIRECT: %[[Y:.*]] = graph.call @main_cps<tensor<i64>>(%c, %x, %[[ID]])
// DIRECT-NEXT: func.return %[[Y]]
// DIRECT: func.func private @main_cps(
// A function argument is given a continuation; the answer is a tuple of two results.
// DIRECT: func.func @apply(%f: (tensor<i64>) -> tensor<i64>, %x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
// DIRECT: graph.call %f(
// DIRECT: graph.tuple
// DIRECT: %[[T:.*]] = graph.call @apply_cps<tuple<tensor<i64>, tensor<i64>>>(
// DIRECT-NEXT: graph.get %[[T]][0]
func.func private @f(%x: tensor<i64>) -> tensor<i64> {
  %y = graph.neg %x : tensor<i64> -> tensor<i64>
  func.return %y : tensor<i64>
}
func.func @main(%c: tensor<i1>, %x: tensor<i64>) -> tensor<i64> {
  %two = graph.constant dense<2> : tensor<i64>
  %r = graph.if %c : tensor<i1> -> (tensor<i64>) {
    %a = graph.call @f(%x) : (tensor<i64>) -> tensor<i64>
    %b = graph.add %a, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %b : tensor<i64>
  } else {
    graph.yield %x : tensor<i64>
  }
  %s = graph.multiply %r, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %s : tensor<i64>
}
func.func @apply(%f: (tensor<i64>) -> tensor<i64>, %x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %y = graph.call %f(%x) : (tensor<i64>) -> tensor<i64>
  func.return %y, %x : tensor<i64>, tensor<i64>
}
func.func private @outside(tensor<i64>) -> tensor<i64>
func.func private @values(%f: (tensor<i64>) -> tensor<i64>, %x: tensor<i64>) -> tensor<i64> {
  %g = graph.function @f : (tensor<i64>) -> tensor<i64>
  %some = graph.function @Option::@Some<tensor<i64>> : (tensor<i64>) -> !adt.data<@Option, tensor<i64>>
  %h = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    %b = graph.call @outside(%a) : (tensor<i64>) -> tensor<i64>
    graph.yield %b : tensor<i64>
  }
  %t = graph.tuple %f, %g, %some, %h : (tensor<i64>) -> tensor<i64>, (tensor<i64>) -> tensor<i64>, (tensor<i64>) -> !adt.data<@Option, tensor<i64>>, (tensor<i64>) -> tensor<i64>
  func.return %x : tensor<i64>
}
