// RUN: stepwell-opt %s -p hoist-conditions | filecheck %s

// CHECK-LABEL: @before
// CHECK: scf.if %c
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.store
// CHECK: else
// CHECK-NEXT: scf.for
// CHECK-NOT: memref.store
func.func @before(%c: i1, %n: index, %v: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      memref.store %v, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// A condition of an iteration stays.
// CHECK-LABEL: @inside
// CHECK: scf.for
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: scf.if
func.func @inside(%m: index, %n: index, %v: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %c = arith.cmpi slt, %i, %m : index
    scf.if %c {
      memref.store %v, %y[%i] : memref<?xf32>
    }
  }
  func.return
}
