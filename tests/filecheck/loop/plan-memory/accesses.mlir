// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// The record of a kernel is compared with the number of each access; its other numbers are the ones to show.
// An index from zero on is not counted from the end.
// CHECK-LABEL: func.func @main(
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[NUMBER:.*]] = memref.load %{{.*}}[%[[ZERO]]] : memref<3xi64>
// CHECK: %[[FOUND:.*]] = arith.index_cast %[[NUMBER]] : i64 to index
// CHECK: %[[OK:.*]] = arith.cmpi ne, %[[FOUND]], %{{.*}} : index
// CHECK-NEXT: sched.check %[[OK]] row 1 shows %{{.*}}, %{{.*}}
// CHECK: %[[FIRST:.*]], %{{.*}} = scf.for
// CHECK: arith.cmpi sge, %[[FIRST]], %[[ZERO]] : index
func.func @main(%i: tensor<4xi32>) -> tensor<4xf32> {
  %y, %f = func.call @k(%i) : (tensor<4xi32>) -> (tensor<4xf32>, tensor<3xi64>)
  graph.check_accesses %f number 2 of "x[i]" : tensor<3xi64>
  graph.check_indices %i within <[5]> of "x[i[k]]" : tensor<4xi32>
  func.return %y : tensor<4xf32>
}
func.func private @k(tensor<4xi32>) -> (tensor<4xf32>, tensor<3xi64>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2>}
