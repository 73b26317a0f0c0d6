// RUN: stepwell-opt %s --split-input-file -p unroll-loops{limit=3} | filecheck %s

// CHECK-LABEL: @short
// CHECK-NOT: scf.for
// CHECK: %[[A:.*]] = arith.addi %x, %{{.*}} : index
// CHECK: %[[B:.*]] = arith.addi %[[A]], %{{.*}} : index
// CHECK-NEXT: func.return %[[B]]
func.func @short(%x: index) -> index {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c1 to %c5 step %c2 iter_args(%a = %x) -> (index) {
    %b = arith.addi %a, %i : index
    scf.yield %b : index
  }
  func.return %y : index
}

// -----

// Four iterations are more than the limit, and the inner loop is written out.
// CHECK-LABEL: @nested
// CHECK-COUNT-1: scf.for
// CHECK-COUNT-2: memref.store
// CHECK-NOT: memref.store
func.func @nested(%v: f32, %y: memref<4x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c2 step %c1 {
      memref.store %v, %y[%i, %j] : memref<4x2xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @open
// CHECK: scf.for
func.func @open(%n: index, %v: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %y[%i] : memref<?xf32>
  }
  func.return
}
