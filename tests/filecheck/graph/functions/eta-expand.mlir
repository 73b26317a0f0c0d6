// RUN: stepwell-opt %s -p eta-expand | filecheck %s
// RUN: stepwell-opt %s -p 'eta-expand{functions=false}' | filecheck %s --check-prefix=MAKE

// CHECK-LABEL: @main
// MAKE-LABEL: @main
func.func @main() {
  // CHECK: %f = graph.lambda (%[[L:.*]]: !adt.data<@List, i64>) -> (tensor<i64>) {
  // CHECK-NEXT: %[[N:.*]] = graph.call @length<i64>(%[[L]]) : (!adt.data<@List, i64>) -> tensor<i64>
  // CHECK-NEXT: graph.yield %[[N]] : tensor<i64>
  // MAKE: graph.function @length<i64>
  %f = graph.function @length<i64> : (!adt.data<@List, i64>) -> tensor<i64>
  // CHECK: %g = graph.lambda (%[[X:.*]]: i64, %[[T:.*]]: !adt.data<@List, i64>) -> (!adt.data<@List, i64>) {
  // CHECK-NEXT: adt.make @List::@Cons(%[[X]], %[[T]]) : (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  // MAKE: adt.make @List::@Cons
  %g = graph.function @List::@Cons<i64> : (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>
  func.return
}
