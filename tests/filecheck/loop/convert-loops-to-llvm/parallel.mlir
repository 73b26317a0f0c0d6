// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s

// The body is a function that runs a range of chunks; what it uses is stored for it. Without a pool it is called directly.
// CHECK-LABEL: llvm.func @k(
// CHECK: %[[CAPTURES:.*]] = llvm.alloca %{{.*}} x !llvm.array<{{.*}} x i8> {alignment = 64 : i64}
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @k.body0 : !llvm.ptr
// CHECK: %[[RUN:.*]] = llvm.load %ctx {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.cond_br %{{.*}}, ^[[SERIAL:.*]], ^[[PARALLEL:.*]]
// CHECK: ^[[SERIAL]]:
// CHECK-NEXT: llvm.call @k.body0(%[[CAPTURES]], %{{.*}}, %[[CHUNKS:.*]]) : (!llvm.ptr, i64, i64) -> ()
// CHECK: ^[[PARALLEL]]:
// CHECK-NEXT: llvm.call %[[RUN]](%ctx, %[[BODY]], %[[CAPTURES]], %[[CHUNKS]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK: llvm.return
// Four chunks of five rows of 16 columns; iterations are counted over both dimensions.
// CHECK: llvm.func internal @k.body0(%[[C:.*]]: !llvm.ptr, %[[B:.*]]: i64, %[[E:.*]]: i64) {
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(80) : i64
// CHECK: llvm.mul %[[B]], %[[SIZE]] : i64
// CHECK: llvm.intr.smin
// CHECK: %[[NUMBER:.*]] = llvm.mlir.constant(16) : i64
// CHECK: llvm.urem %{{.*}}, %[[NUMBER]] : i64
// CHECK: llvm.udiv %{{.*}}, %[[NUMBER]] : i64
func.func private @k(%x: memref<20x64xf32>, %y: memref<20x64xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c20 = arith.constant 20 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c20, %c64, %c1, %c4) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<20x64xf32>
    memref.store %v, %y[%i, %j] : memref<20x64xf32>
    scf.reduce
  }) {sched.chunks = 4 : i64} : (index, index, index, index, index, index) -> ()
  func.return
}

// A loop inside a loop is serial.
// CHECK-LABEL: llvm.func @nested(
// CHECK-NOT: llvm.func internal @nested.body2
// CHECK: llvm.func internal @nested.body1
// CHECK-NOT: llvm.mlir.addressof
func.func private @nested(%z: memref<20x64xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c20, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %v, %z[%i, %j] : memref<20x64xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) {sched.chunks = 4 : i64} : (index, index, index) -> ()
  func.return
}

// Little work stays on one thread: where its length is known, no function is made for it.
// CHECK-LABEL: llvm.func @small(
// CHECK-NOT: llvm.func internal @small
// CHECK: llvm.return
func.func private @small(%z: memref<64xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %z[%i] : memref<64xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A loop inside counts with all its iterations: here threads share the outer one,
// CHECK-LABEL: llvm.func @outer(
// CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(8) : i64
// CHECK: llvm.call %{{.*}}, %[[EIGHT]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK: llvm.func internal @outer.body
// CHECK-NOT: llvm.func internal
func.func private @outer(%z: memref<8x65536xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c65536 = arith.constant 65536 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c65536, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %v, %z[%i, %j] : memref<8x65536xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// and of an outer one of few iterations the inner ones.
// CHECK-LABEL: llvm.func @inner(
// CHECK: %[[SIXTEEN:.*]] = llvm.mlir.constant(16) : i64
// CHECK: llvm.call %{{.*}}, %[[SIXTEEN]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK: llvm.func internal @inner.body
// CHECK-NOT: llvm.func internal
func.func private @inner(%z: memref<2x400000xf32>) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c400000 = arith.constant 400000 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c2, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c400000, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %v, %z[%i, %j] : memref<2x400000xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Where the length is not known, the count of iterations decides.
// CHECK-LABEL: llvm.func @unknown(
// CHECK: %[[FEW:.*]] = llvm.icmp "slt" %{{.*}}, %{{.*}} : i64
// CHECK: llvm.or %{{.*}}, %[[FEW]] : i1
// CHECK: llvm.func internal @unknown.body
func.func private @unknown(%z: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %n: index)
    attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1, symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %z[%i] : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
