// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<?x8xf32, #graph.dims<["N", 8]>>) -> tensor<?x8xf32, #graph.dims<["N", 8]>> {
  // CHECK: %y = graph.expression "double" (%i < "n", %j < "8") reads (%a = %x ["n", "8"]) attributes {tag = 1 : i64} : (tensor<?x8xf32, #graph.dims<["N", 8]>>) -> tensor<?x8xf32, #graph.dims<["N", 8]>> {
  // CHECK-NEXT: %{{.*}} = tensor.extract %a[%i, %j] : tensor<?x8xf32>
  %y = graph.expression "double" (%i < "n", %j < "8") reads (%a = %x ["n", "8"]) attributes {tag = 1 : i64}
    : (tensor<?x8xf32, #graph.dims<["N", 8]>>) -> tensor<?x8xf32, #graph.dims<["N", 8]>> {
    %0 = tensor.extract %a[%i, %j] : tensor<?x8xf32>
    %1 = arith.addf %0, %0 : f32
    graph.yield %1 : f32
  }
  func.return %y : tensor<?x8xf32, #graph.dims<["N", 8]>>
}

// Two results, an axis that is reduced, and unsigned elements, which are signless inside.
// CHECK-LABEL: @reduced
func.func @reduced(%x: tensor<4x?xui8, #graph.dims<[4, "N"]>>) -> (tensor<4xui8>, tensor<4xi64>) {
  // CHECK: %m, %p = graph.expression "last" (%i < "4") reduce (%r < "k") reads (%a = %x ["4", "k"]) : (tensor<4x?xui8, #graph.dims<[4, "N"]>>) -> (tensor<4xui8>, tensor<4xi64>) {
  // CHECK: graph.yield %{{.*}}, %{{.*}} : i8, i64
  // CHECK: } combine [0 : i8, -1 : i64] {
  %m, %p = graph.expression "last" (%i < "4") reduce (%r < "k") reads (%a = %x ["4", "k"])
    : (tensor<4x?xui8, #graph.dims<[4, "N"]>>) -> (tensor<4xui8>, tensor<4xi64>) {
    %0 = tensor.extract %a[%i, %r] : tensor<4x?xi8>
    %1 = arith.index_cast %r : index to i64
    graph.yield %0, %1 : i8, i64
  } combine [0 : i8, -1 : i64] {
  ^bb0(%u: i8, %v: i64, %s: i8, %t: i64):
    %2 = arith.maxui %u, %s : i8
    %3 = arith.maxsi %v, %t : i64
    graph.yield %2, %3 : i8, i64
  }
  func.return %m, %p : tensor<4xui8>, tensor<4xi64>
}

// CHECK-LABEL: @no_inputs
func.func @no_inputs() -> tensor<3xi64> {
  // CHECK: graph.expression "iota" (%i < "3") reads () : () -> tensor<3xi64> {
  %y = graph.expression "iota" (%i < "3") reads () : () -> tensor<3xi64> {
    %0 = arith.index_cast %i : index to i64
    graph.yield %0 : i64
  }
  func.return %y : tensor<3xi64>
}
