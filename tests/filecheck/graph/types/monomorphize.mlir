// RUN: stepwell-opt %s -p link-prelude,monomorphize | filecheck %s

// CHECK-NOT: type_params
// CHECK-DAG: func.func private @map.4xf32_i64(%{{.*}}: (tensor<4xf32>) -> tensor<i64>
// CHECK-DAG: graph.call @map.4xf32_i64(
// CHECK-DAG: func.func private @sum.i64(
// CHECK-DAG: func.func private @foldl.i64_i64(
func.func @first(%x: tensor<4xf32>) -> tensor<i64> {
  %r = graph.constant dense<2> : tensor<i64>
  func.return %r : tensor<i64>
}
// CHECK-LABEL: func.func @main
func.func @main(%l: !adt.data<@List, tensor<4xf32>>) -> tensor<i64> {
  // CHECK: graph.function @first : (tensor<4xf32>) -> tensor<i64>
  %f = graph.function @first : (tensor<4xf32>) -> tensor<i64>
  // CHECK: graph.call @map.4xf32_i64(
  %m = graph.call @map<tensor<4xf32>, tensor<i64>>(%f, %l) : ((tensor<4xf32>) -> tensor<i64>, !adt.data<@List, tensor<4xf32>>) -> !adt.data<@List, tensor<i64>>
  // CHECK: graph.call @sum.i64(
  %s = graph.call @sum<i64>(%m) : (!adt.data<@List, tensor<i64>>) -> tensor<i64>
  // CHECK: graph.call @id.tuple.i64.i64(
  %t = graph.tuple %s, %s : tensor<i64>, tensor<i64>
  %u = graph.call @id<tuple<tensor<i64>, tensor<i64>>>(%t) : (tuple<tensor<i64>, tensor<i64>>) -> tuple<tensor<i64>, tensor<i64>>
  func.return %s : tensor<i64>
}
