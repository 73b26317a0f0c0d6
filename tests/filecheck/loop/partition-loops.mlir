// RUN: stepwell-opt %s -p partition-loops | filecheck %s

// CHECK-LABEL: @guarded
// CHECK: %[[A:.*]] = arith.minsi %m, %n : index
// CHECK: %[[K:.*]] = arith.maxsi %[[A]], %c0 : index
// CHECK: scf.for %{{.*}} = %c0 to %[[K]]
// CHECK-NEXT: memref.store %v
// CHECK: scf.for %{{.*}} = %[[K]] to %n
// CHECK-NEXT: memref.store %w
// CHECK-NOT: scf.if
func.func @guarded(%m: index, %n: index, %v: f32, %w: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %c = arith.cmpi slt, %i, %m : index
    scf.if %c {
      memref.store %v, %y[%i] : memref<?xf32>
    } else {
      memref.store %w, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// Steps of two may not meet the bound, and a bound of an iteration is none.
// CHECK-LABEL: @stays
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.if
func.func @stays(%m: index, %n: index, %v: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c2 {
    %c = arith.cmpi slt, %i, %m : index
    scf.if %c {
      memref.store %v, %y[%i] : memref<?xf32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %b = arith.muli %i, %c2 : index
    %c = arith.cmpi slt, %i, %b : index
    scf.if %c {
      memref.store %v, %y[%i] : memref<?xf32>
    }
  }
  func.return
}
