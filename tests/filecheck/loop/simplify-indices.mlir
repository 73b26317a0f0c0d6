// RUN: stepwell-opt %s -p simplify-indices | filecheck %s

// CHECK-LABEL: @ranges
// CHECK: scf.for %i =
// CHECK-NEXT: memref.load %x[%i]
// CHECK-NEXT: memref.store
func.func @ranges(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %a = arith.minsi %i, %c7 : index
    %b = arith.maxsi %a, %c0 : index
    %q = arith.floordivsi %i, %c8 : index
    %k = arith.addi %b, %q : index
    %v = memref.load %x[%b] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// A condition keeps the index inside; where it does not hold, the clamp is a number.
// CHECK-LABEL: @conditions
// CHECK: scf.if
// CHECK-NEXT: memref.load %x[%j]
// CHECK-NOT: arith.maxsi
// CHECK: else
// CHECK-NEXT: memref.load %x[%c0]
func.func @conditions(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.subi %i, %c1 : index
    %t = arith.cmpi sge, %j, %c0 : index
    %r = scf.if %t -> (f32) {
      %k = arith.maxsi %j, %c0 : index
      %v = memref.load %x[%k] : memref<8xf32>
      scf.yield %v : f32
    } else {
      %k = arith.maxsi %j, %c0 : index
      %v = memref.load %x[%k] : memref<8xf32>
      scf.yield %v : f32
    }
    memref.store %r, %y[%i] : memref<8xf32>
  }
  func.return
}

// A comparison that always holds; one that is not known stays.
// CHECK-LABEL: @comparisons
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: arith.cmpi slt, %i, %n
func.func @comparisons(%n: index, %y: memref<8xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %a = arith.cmpi slt, %i, %c8 : index
    %b = arith.cmpi slt, %i, %n : index
    %c = arith.andi %a, %b : i1
    memref.store %c, %y[%i] : memref<8xi1>
  }
  func.return
}
