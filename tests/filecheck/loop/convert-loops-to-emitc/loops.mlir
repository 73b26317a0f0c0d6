// RUN: stepwell-opt %s -p convert-loops-to-emitc | filecheck %s

// CHECK-LABEL: emitc.func @sum(%x: !emitc.ptr<f32>, %y: !emitc.ptr<f32>, %N: index) attributes {specifiers = ["static"]}
// CHECK: %[[SUM:.*]] = emitc.variable : !emitc.lvalue<f32>
// CHECK-NEXT: emitc.assign %{{.*}} : f32 to %[[SUM]]
// CHECK-NEXT: emitc.for(%{{.*}}, %N, %{{.*}}) {
// CHECK-NEXT: ^bb{{.*}}(%[[I:.*]]: index):
// CHECK-NEXT: %[[A:.*]] = emitc.load %[[SUM]] : !emitc.lvalue<f32> to f32
// CHECK: %[[E:.*]] = emitc.subscript %x[%{{.*}}] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<f32>
// CHECK: %[[V:.*]] = emitc.load %[[E]]
// CHECK: %[[B:.*]] = emitc.add %[[A]], %[[V]] : (f32, f32) -> f32
// CHECK: emitc.assign %[[B]] : f32 to %[[SUM]]
// CHECK: emitc.call_opaque "f32_maximum"
func.func private @sum(%x: memref<?x4xf32> {graph.dims = #graph.dims<["N", 4]>}, %y: memref<1xf32>, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%a = %zero) -> (f32) {
    %v = memref.load %x[%i, %c2] : memref<?x4xf32>
    %b = arith.addf %a, %v : f32
    scf.yield %b : f32
  }
  %m = arith.maximumf %s, %zero : f32
  memref.store %m, %y[%c0] : memref<1xf32>
  func.return
}

// A branch stores its values in variables; integers wrap as unsigned ones do.

// CHECK-LABEL: emitc.func @branch
// CHECK: %[[V:.*]] = emitc.variable : !emitc.lvalue<i32>
// CHECK: emitc.if %{{.*}} {
// CHECK: emitc.cast %{{.*}} : i32 to ui32
// CHECK: emitc.add %{{.*}}, %{{.*}} : (ui32, ui32) -> ui32
// CHECK: emitc.cast %{{.*}} : ui32 to i32
// CHECK: emitc.assign %{{.*}} : i32 to %[[V]]
// CHECK: } {
// CHECK: emitc.assign %{{.*}} : i32 to %[[V]]
func.func private @branch(%x: memref<4xi32>, %y: memref<4xi32>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<4xi32>
  %zero = arith.constant 0 : i32
  %c = arith.cmpi slt, %a, %zero : i32
  %r = scf.if %c -> (i32) {
    %b = arith.addi %a, %a : i32
    scf.yield %b : i32
  } else {
    scf.yield %a : i32
  }
  memref.store %r, %y[%c0] : memref<4xi32>
  func.return
}

// A loop that tests first is a loop that tests last around a branch.

// CHECK-LABEL: emitc.func @halve
// CHECK: emitc.do {
// CHECK: emitc.cmp 4 : i64
// CHECK: emitc.if
// CHECK: } while {
// CHECK-NEXT: emitc.load %more
// CHECK-NEXT: emitc.yield %{{.*}} : i1
func.func private @halve(%x: memref<1xf32>, %y: memref<1xf32>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %a = memref.load %x[%c0] : memref<1xf32>
  %r = scf.while (%b = %a) : (f32) -> f32 {
    %c = arith.cmpf ogt, %b, %one : f32
    scf.condition(%c) %b : f32
  } do {
  ^bb0(%d: f32):
    %e = arith.mulf %d, %half : f32
    scf.yield %e : f32
  }
  memref.store %r, %y[%c0] : memref<1xf32>
  func.return
}

// Parallel loops are plain ones, inside one another; i1 is a byte in memory.

// CHECK-LABEL: emitc.func @mask(%x: !emitc.ptr<f32>, %y: !emitc.ptr<ui8>)
// CHECK: emitc.for
// CHECK: emitc.for
// CHECK: %[[C:.*]] = emitc.cmp 2 : i64
// CHECK: %[[B:.*]] = emitc.cast %[[C]] : i1 to ui8
// CHECK: emitc.assign %[[B]] : ui8
func.func private @mask(%x: memref<2x3xf32>, %y: memref<2x3xi1>)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  "scf.parallel"(%c0, %c0, %c2, %c3, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<2x3xf32>
    %c = arith.cmpf olt, %v, %zero : f32
    memref.store %c, %y[%i, %j] : memref<2x3xi1>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// CHECK-LABEL: emitc.func @model_main(%call: !emitc.ptr<!emitc.opaque<"model_call">>, %in: !emitc.ptr<f32>
// CHECK-SAME: -> i32
// CHECK: %[[P:.*]] = emitc.add %workspace, %{{.*}} : (!emitc.ptr<ui8>, index) -> !emitc.ptr<ui8>
// CHECK: %[[Q:.*]] = emitc.cast %[[P]] : !emitc.ptr<ui8> to !emitc.ptr<f32>
// CHECK: emitc.call @sum(%in, %[[Q]], %N)
// CHECK: emitc.verbatim "if (!({})) return failed({}, 3, {}, {});"
// CHECK: emitc.return %{{.*}} : i32
func.func @main(%0: memref<?x4xf32> {graph.dims = #graph.dims<["N", 4]>}, %1: memref<1xf32>, %2: memref<?xi8>, %N: index)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 1, symbols = ["N"], arena = "128", slots = 0>} {
  %c64 = arith.constant 64 : index
  %3 = memref.view %2[%c64][] : memref<?xi8> to memref<1xf32>
  func.call @sum(%0, %3, %N) : (memref<?x4xf32>, memref<1xf32>, index) -> ()
  %ok = arith.cmpi slt, %N, %c64 : index
  sched.check %ok row 3 shows %N, %c64
  func.return
}
