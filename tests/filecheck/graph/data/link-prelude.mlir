// RUN: stepwell-opt %s -p link-prelude | filecheck %s
// RUN: stepwell-opt %s -p link-prelude,link-prelude | filecheck %s

// The list that @size needs by way of @Tree comes too, the module's own @id stays.
// CHECK: adt.data @List<"A">
// CHECK-NOT: adt.data @Option
// CHECK: adt.data @Tree<"A">
// CHECK: func.func private @map
// CHECK: func.func private @foldl
// CHECK: func.func private @sum
// CHECK: func.func private @size
// CHECK-NOT: private
// CHECK: func.func @id(%x: i64)
// CHECK: func.func @main
func.func @id(%x: i64) -> i64 {
  func.return %x : i64
}
func.func @main(%t: !adt.data<@Tree, i64>, %x: i64) -> (tensor<i64>, i64) {
  %n = graph.call @size<i64>(%t) : (!adt.data<@Tree, i64>) -> tensor<i64>
  %y = graph.call @id(%x) : (i64) -> i64
  func.return %n, %y : tensor<i64>, i64
}
