// RUN: stepwell-opt %s -p plan-memory | filecheck %s

// Each op that may end a call has a row, in order, and shows two numbers. An assertion about the inputs alone has
// none: it is checked before the call. A signed number is split into a positive and a negative part, and clamped.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[S:[0-9]+]]: memref<i64>, %[[I:[0-9]+]]: memref<?x3xi32> {graph.dims = #graph.dims<["N", 3]>}
// CHECK: %[[LOADED:.*]] = memref.load %[[S]][] : memref<i64>
// CHECK-NEXT: %[[SIGNED:.*]] = arith.index_cast %[[LOADED]] : i64 to index
// CHECK: %[[LEAST:.*]] = arith.constant -1152921504606846976 : index
// CHECK-NEXT: %[[MOST:.*]] = arith.maxsi %[[SIGNED]], %[[LEAST]] : index
// CHECK: arith.minsi %[[MOST]], %{{.*}} : index
// CHECK: %[[P:.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
// CHECK: %[[M:.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
// CHECK: %[[SIZE:.*]] = arith.addi %N, %{{.*}} : index
// CHECK: sched.check %{{.*}} row 2 shows %[[SIZE]], %{{.*}}
// CHECK-NOT: sched.check
// CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[SIZE]], %{{.*}} : index
// CHECK-NEXT: sched.check %[[EQUAL]] row 3 shows %[[SIZE]], %{{.*}}
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[I]] to offset: [0], sizes: [%{{.*}}], strides: [1]
// CHECK: %[[LOW:.*]], %[[HIGH:.*]] = scf.for
// CHECK: memref.load %[[FLAT]]
// CHECK: sched.check %{{.*}} row 4 shows %[[LOW]], %N
// CHECK: sched.check %{{.*}} row 4 shows %[[HIGH]], %N
// CHECK: %[[ABOVE:.*]] = arith.cmpi sge, %[[P]], %{{.*}} : index
// CHECK-NEXT: sched.check %[[ABOVE]] row 5 shows %[[P]], %N
// CHECK-NEXT: %[[BELOW:.*]] = arith.cmpi sle, %[[P]], %N : index
// CHECK-NEXT: sched.check %[[BELOW]] row 5 shows %[[P]], %N
// CHECK: func.call @k(%{{.*}}, %{{.*}}, %[[P]], %[[M]], %[[SIZE]])
func.func @main(%s: tensor<i64>, %i: tensor<?x3xi32> {graph.dims = #graph.dims<["N", 3]>}, %N: index)
    -> tensor<4xf32> attributes {sched.program = #sched.program<symbols = ["N"]>} {
  graph.assert "N" equals "8", "checked before the call"
  %p, %m = graph.bind_sizes %s signed names ["data_0", "data_1"] : tensor<i64> -> index, index
  %n = graph.define_sizes <["N - data_1"]> names ["data_2"] -> index
  graph.assert "data_2" equals "8", "checked on the way"
  graph.check_indices %i within <["N"]> : tensor<?x3xi32>
  graph.check_offsets <["data_0"]> up_to <["N"]>
  %y = func.call @k(%i, %p, %m, %n) : (tensor<?x3xi32>, index, index, index) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @k(tensor<?x3xi32>, index, index, index) -> tensor<4xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["A", "B", "C"]>}
