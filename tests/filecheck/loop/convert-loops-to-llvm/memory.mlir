// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s

// Addresses are sums; the part known at run time only is computed once for a tile.
// CHECK-LABEL: @tile
// CHECK: %[[ROW:.*]] = llvm.mul %i, %{{.*}} : i64
// CHECK: %[[AT:.*]] = llvm.add %[[ROW]], %j : i64
// CHECK: %[[P:.*]] = llvm.getelementptr inbounds %m[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: %[[Q:.*]] = llvm.getelementptr inbounds %[[P]][66] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: llvm.store %{{.*}}, %[[Q]] {alignment = 4 : i64} : f32, !llvm.ptr
func.func @tile(%m: memref<16x64xf32>, %i: index, %j: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %i1 = arith.addi %i, %c1 : index
  %j2 = arith.addi %j, %c2 : index
  %x = memref.load %m[%i, %j] : memref<16x64xf32>
  memref.store %x, %m[%i1, %j2] : memref<16x64xf32>
  func.return
}

// The alignment is what argument, steps and distances allow to prove.
// CHECK-LABEL: @aligned
// CHECK: llvm.load %{{.*}} {alignment = 32 : i64} : !llvm.ptr -> f32
func.func @aligned(%m: memref<64xf32> {sched.align = 64 : i64}) -> f32 {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c8 to %c64 step %c16 iter_args(%acc = %z) -> (f32) {
    %x = memref.load %m[%i] : memref<64xf32>
    %s = arith.addf %acc, %x : f32
    scf.yield %s : f32
  }
  func.return %r : f32
}

// An i1 is a byte in memory, an index an i64.
// CHECK-LABEL: @elements
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK: %[[BIT:.*]] = llvm.icmp "ne" %[[BYTE]], %{{.*}} : i8
// CHECK: %[[OUT:.*]] = llvm.zext %[[BIT]] : i1 to i8
// CHECK: llvm.store %[[OUT]], %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr
// CHECK: llvm.store %k, %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr
func.func @elements(%b: memref<4xi1>, %n: memref<4xindex>, %k: index) {
  %c3 = arith.constant 3 : index
  %x = memref.load %b[%k] : memref<4xi1>
  memref.store %x, %b[%c3] : memref<4xi1>
  memref.store %k, %n[%k] : memref<4xindex>
  func.return
}

// Stack memory is taken once, at the entry.
// CHECK-LABEL: @stack
// CHECK-NEXT: %[[ONE:.*]] = llvm.mlir.constant(1) : i64
// CHECK-NEXT: llvm.alloca %[[ONE]] x !llvm.array<96 x f32> {alignment = 64 : i64}
func.func @stack(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloca() : memref<6x16xf32>
    memref.store %x, %m[%c0, %c1] : memref<6x16xf32>
  }
  func.return
}

// CHECK-LABEL: @copy_dense
// CHECK: llvm.intr.memcpy(%to, %from, %{{.*}}) : !llvm.ptr, !llvm.ptr, i64
func.func @copy_dense(%from: memref<4x8xf32>, %to: memref<4x8xf32>) {
  "memref.copy"(%from, %to) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}

// Rows of a view lie apart: one copy for each.
// CHECK-LABEL: @copy_rows
// CHECK: ^{{.*}}(%[[I:.*]]: i64):
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(16) : i64
// CHECK: llvm.intr.memcpy(%{{.*}}, %{{.*}}, %[[BYTES]])
// CHECK: llvm.cond_br
func.func @copy_rows(%from: memref<4x8xf32>, %to: memref<4x4xf32>) {
  %v = memref.subview %from[0, 2] [4, 4] [1, 1] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 2>>
  "memref.copy"(%v, %to) : (memref<4x4xf32, strided<[8, 1], offset: 2>>, memref<4x4xf32>) -> ()
  func.return
}
