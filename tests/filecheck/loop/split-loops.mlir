// RUN: stepwell-opt %s -p split-loops{factor=4} | filecheck %s

// A sum is carried through both loops; the last block ends where the loop ended.
// CHECK-LABEL: @sum
// CHECK: %[[R:.*]] = scf.for %[[B:.*]] = %c0 to %n step %[[S:.*]] iter_args(%[[A:.*]] = %zero) -> (f32) {
// CHECK-NEXT: %[[D:.*]] = arith.addi %[[B]], %[[S]] : index
// CHECK-NEXT: %[[E:.*]] = arith.minsi %[[D]], %n : index
// CHECK-NEXT: %[[I:.*]] = scf.for %i = %[[B]] to %[[E]] step %c1 iter_args(%s = %[[A]]) -> (f32) {
// CHECK: scf.yield %[[I]] : f32
// CHECK: func.return %[[R]] : f32
func.func @sum(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  func.return %r : f32
}

// The outer loop stays, and so does a loop that is a single block.
// CHECK-LABEL: @short
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
func.func @short(%y: memref<8x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      memref.store %v, %y[%i, %j] : memref<8x4xf32>
    }
  }
  func.return
}
