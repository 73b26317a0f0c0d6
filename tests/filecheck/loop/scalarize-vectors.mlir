// RUN: stepwell-opt %s -p scalarize-vectors | filecheck %s

// CHECK-LABEL: @row
// CHECK-NOT: vector
// CHECK: %[[A:.*]] = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT: %[[J:.*]] = arith.addi %i, %{{.*}} : index
// CHECK-NEXT: %[[B:.*]] = memref.load %x[%[[J]]] : memref<8xf32>
// CHECK-NEXT: %[[S:.*]] = math.fma %[[A]], %s, %[[A]] : f32
// CHECK-NEXT: %[[T:.*]] = math.fma %[[B]], %s, %[[B]] : f32
// CHECK-NEXT: %[[U:.*]] = arith.addf %[[S]], %[[T]]
// CHECK: memref.store %[[T]], %y[%i]
// CHECK: memref.store %[[S]], %y[%{{.*}}]
func.func @row(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<1xf32>, %i: index, %s: f32) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %v = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<8xf32>, vector<2xf32>
  %b = vector.broadcast %s : f32 to vector<2xf32>
  %f = vector.fma %v, %b, %v : vector<2xf32>
  %r = vector.reduction <add>, %f : vector<2xf32> into f32
  memref.store %r, %z[%c0] : memref<1xf32>
  %w = vector.shuffle %f, %f [1, 0] : vector<2xf32>, vector<2xf32>
  vector.transfer_write %w, %y[%i] {in_bounds = [true]} : vector<2xf32>, memref<8xf32>
  func.return
}

// Lanes that may be outside are read and written in branches, and padded.

// CHECK-LABEL: @edge
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %i, %{{.*}} : index
// CHECK: %[[A:.*]] = scf.if %[[INSIDE]] -> (f32) {
// CHECK-NEXT: memref.load %x[%i]
// CHECK: scf.yield %p : f32
// CHECK: scf.if %{{[0-9]+}} {
// CHECK-NEXT: memref.store %[[A]], %y[%i]
func.func @edge(%x: memref<5xf32>, %y: memref<5xf32>, %i: index, %p: f32) {
  %v = vector.transfer_read %x[%i], %p {in_bounds = [false]} : memref<5xf32>, vector<2xf32>
  vector.transfer_write %v, %y[%i] {in_bounds = [false]} : vector<2xf32>, memref<5xf32>
  func.return
}

// Loops carry a scalar for each lane, and masks are conditions.

// CHECK-LABEL: @sums
// CHECK: %[[M:.*]] = arith.cmpi slt, %c0, %n : index
// CHECK: %{{.*}}, %{{.*}} = scf.for {{.*}} -> (f32, f32) {
// CHECK: scf.if %[[M]] -> (f32)
// CHECK: scf.yield %{{.*}}, %{{.*}} : f32, f32
func.func @sums(%x: memref<8xf32>, %y: memref<8xf32>, %n: index) {
  %zero = arith.constant dense<0.0> : vector<2xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %m = vector.create_mask %n : vector<2xi1>
  %s = scf.for %i = %c0 to %c8 step %c2 iter_args(%a = %zero) -> (vector<2xf32>) {
    %v = vector.maskedload %x[%i], %m, %zero : memref<8xf32>, vector<2xi1>, vector<2xf32> into vector<2xf32>
    %t = arith.addf %a, %v : vector<2xf32>
    scf.yield %t : vector<2xf32>
  }
  vector.store %s, %y[%c0] : memref<8xf32>, vector<2xf32>
  func.return
}
