// RUN: stepwell-opt %s -p check-bounds | filecheck %s
// RUN: stepwell-opt %s -p check-bounds{keep-proved=true} | filecheck %s --check-prefix ALL
// RUN: stepwell-opt %s -p check-bounds{marked=true} | filecheck %s --check-prefix MARKED

// The load is proved; of the store's index the upper end is not, and that alone is tested.
// CHECK-LABEL: @shifted
// CHECK: scf.for %i =
// CHECK-NEXT: %[[V:.*]] = memref.load %x[%i]
// CHECK-NEXT: %j = arith.addi %i
// CHECK-NEXT: %[[EXTENT:.*]] = arith.constant 8 : index
// CHECK-NEXT: %[[OK:.*]] = arith.cmpi slt, %j, %[[EXTENT]]
// CHECK-NEXT: scf.if %[[OK]] {
// CHECK-NEXT: memref.store %[[V]], %y[%j]
// CHECK-NEXT: }
// ALL-LABEL: @shifted
// ALL: arith.cmpi sge, %i,
// ALL: arith.cmpi slt, %i,
// ALL: arith.cmpi sge, %j,
// ALL: arith.cmpi slt, %j,
// MARKED-LABEL: @shifted
// MARKED: arith.addi %i
// MARKED-NEXT: memref.store
func.func @shifted(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %j = arith.addi %i, %c1 : index
    memref.store %v, %y[%j] : memref<8xf32>
  }
  func.return
}

// A condition proves the first load; the second one's both ends are open.
// CHECK-LABEL: @guarded
// CHECK: scf.if %inside -> (f32) {
// CHECK-NEXT: memref.load %x[%j]
// CHECK: memref.load %at[%i]
// CHECK: %[[LOW:.*]] = arith.cmpi sge, %k,
// CHECK: %[[HIGH:.*]] = arith.cmpi slt, %k,
// CHECK: %[[BOTH:.*]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK: scf.if %[[BOTH]] -> (f32) {
// CHECK-NEXT: memref.load %x[%k]
func.func @guarded(%x: memref<8xf32>, %at: memref<8xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.subi %i, %c1 : index
    %inside = arith.cmpi sge, %j, %c0 : index
    %a = scf.if %inside -> (f32) {
      %v = memref.load %x[%j] : memref<8xf32>
      scf.yield %v : f32
    } else {
      scf.yield %zero : f32
    }
    %n = memref.load %at[%i] : memref<8xi64>
    %k = arith.index_cast %n : i64 to index
    %b = memref.load %x[%k] : memref<8xf32>
    %s = arith.addf %a, %b : f32
    memref.store %s, %y[%i] : memref<8xf32>
  }
  func.return
}

// Of a parallel loop, over a size by its symbol: the number, index and extent are recorded once.
// MARKED-LABEL: @recorded
// MARKED: scf.if %{{.*}} {
// MARKED-NEXT: memref.store %{{.*}}, %y[%j]
// MARKED: else
// MARKED: %[[KNOWN:.*]] = memref.load %faults[%{{.*}}] : memref<3xi64>
// MARKED: arith.cmpi eq, %[[KNOWN]],
// MARKED: arith.constant 7 : i64
// MARKED: arith.index_cast %j : index to i64
// MARKED: arith.index_cast %N : index to i64
func.func @recorded(%x: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %y: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %faults: memref<3xi64>, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2, symbols = ["N"]>, sched.faults} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %N, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] {sched.access = 6 : i64} : memref<?xf32>
    %j = arith.addi %i, %c1 : index
    memref.store %v, %y[%j] {sched.access = 7 : i64} : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
