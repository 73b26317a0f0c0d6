// RUN: stepwell-opt %s -p defunctionalize | filecheck %s
// RUN: stepwell-opt %s -p defunctionalize,dead-code-elimination | filecheck %s --check-prefix=NONE

// Two function types: from a number to a number, from a number to such a function.
// CHECK: adt.data @fn_0 {
// CHECK-NEXT: adt.constructor @main_lambda_2(tensor<i64>)
// CHECK-NEXT: adt.constructor @double()
// CHECK-NEXT: adt.constructor @main_lambda_0(tensor<i64>, tensor<i64>)
// CHECK-NEXT: }
// CHECK-NEXT: adt.data @fn_1 {
// CHECK-NEXT: adt.constructor @main_lambda_1(tensor<i64>)
// CHECK-NEXT: }
// The fields of data are data.
// CHECK: adt.constructor @Full(!adt.data<@fn_0>)
adt.data @Box {
  adt.constructor @Full((tensor<i64>) -> tensor<i64>)
}

// NONE-NOT: graph.function
// NONE-NOT: graph.closure
// NONE-NOT: -> ((

// CHECK-LABEL: func.func @main(
func.func @main(%c: tensor<i1>, %x: tensor<i64>, %k: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  // CHECK: %f = adt.make @fn_0::@main_lambda_2(%k) : (tensor<i64>) -> !adt.data<@fn_0>
  %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
    %b = graph.add %a, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %b : tensor<i64>
  }
  // CHECK: %g = adt.make @fn_0::@double() : () -> !adt.data<@fn_0>
  %g = graph.function @double : (tensor<i64>) -> tensor<i64>
  // A cell has the value of one of them.
  // CHECK: ref.new %f : !adt.data<@fn_0> -> !ref.cell<!adt.data<@fn_0>>
  %r = ref.new %f : (tensor<i64>) -> tensor<i64> -> !ref.cell<(tensor<i64>) -> tensor<i64>>
  ref.write %r, %g : !ref.cell<(tensor<i64>) -> tensor<i64>>, (tensor<i64>) -> tensor<i64>
  %h = ref.read %r : !ref.cell<(tensor<i64>) -> tensor<i64>> -> (tensor<i64>) -> tensor<i64>
  // CHECK: %p = graph.call @apply_0(%h, %x) : (!adt.data<@fn_0>, tensor<i64>) -> tensor<i64>
  %p = graph.call %h(%x) : (tensor<i64>) -> tensor<i64>
  // A function that returns functions: those capture its argument.
  %m = graph.lambda (%a: tensor<i64>) -> ((tensor<i64>) -> tensor<i64>) {
    %n = graph.lambda (%b: tensor<i64>) -> (tensor<i64>) {
      %d = graph.multiply %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %e = graph.add %d, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
      graph.yield %e : tensor<i64>
    }
    graph.yield %n : (tensor<i64>) -> tensor<i64>
  }
  %o = graph.call @same(%m) : ((tensor<i64>) -> ((tensor<i64>) -> tensor<i64>)) -> ((tensor<i64>) -> ((tensor<i64>) -> tensor<i64>))
  // CHECK: %q = graph.call @apply_1(%o, %x) : (!adt.data<@fn_1>, tensor<i64>) -> !adt.data<@fn_0>
  %q = graph.call %o(%x) : (tensor<i64>) -> ((tensor<i64>) -> tensor<i64>)
  // CHECK: graph.call @apply_0(%q, %p)
  %s = graph.call %q(%p) : (tensor<i64>) -> tensor<i64>
  func.return %p, %s : tensor<i64>, tensor<i64>
}
func.func private @double(%x: tensor<i64>) -> tensor<i64> {
  %y = graph.add %x, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %y : tensor<i64>
}
// CHECK: func.func private @same(%f: !adt.data<@fn_1>) -> !adt.data<@fn_1>
func.func private @same(%f: (tensor<i64>) -> ((tensor<i64>) -> tensor<i64>)) -> ((tensor<i64>) -> ((tensor<i64>) -> tensor<i64>)) {
  func.return %f : (tensor<i64>) -> ((tensor<i64>) -> tensor<i64>)
}
// CHECK-LABEL: func.func private @apply_0(
// CHECK-SAME: %[[F:.*]]: !adt.data<@fn_0>, %[[A:.*]]: tensor<i64>) -> tensor<i64> {
// CHECK: adt.match %[[F]] : !adt.data<@fn_0> -> (tensor<i64>) case main_lambda_2(%k: tensor<i64>) {
// CHECK-NEXT: graph.call @main_lambda_2(%k, %[[A]]) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: } case double {
// CHECK-NEXT: graph.call @double(%[[A]])
// CHECK: } case main_lambda_0(%a: tensor<i64>, %x: tensor<i64>) {
// CHECK-NEXT: graph.call @main_lambda_0(%a, %x, %[[A]])
