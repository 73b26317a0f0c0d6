// RUN: stepwell-opt %s -p map-loops-to-gpu | filecheck %s
// RUN: stepwell-opt %s -p map-loops-to-gpu{threads=64} | filecheck %s --check-prefix=SMALL

// Iterations of both loops are numbered, the inner one fastest; the last of 3 blocks has a guard.

// CHECK-LABEL: func.func @two_loops
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 256 : index
// CHECK: "scf.parallel"(%{{.*}}, %[[BLOCKS]], %{{.*}})
// CHECK: ^{{.*}}(%[[B:.*]]: index):
// CHECK: "scf.parallel"(%{{.*}}, %[[THREADS]], %{{.*}})
// CHECK: ^{{.*}}(%[[T:.*]]: index):
// CHECK: %[[FIRST:.*]] = arith.muli %[[B]], %{{.*}} : index
// CHECK: %[[I:.*]] = arith.addi %[[FIRST]], %[[T]] : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK: scf.if %[[IN]] {
// CHECK: %[[COLUMN:.*]] = arith.remui %[[I]], %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.divui %[[I]], %{{.*}} : index
// CHECK: memref.store %{{.*}}, %x[%[[ROW]], %[[COLUMN]]]
// CHECK: {gpu.mapping = [#gpu.loop_dim_map<processor = thread_x
// CHECK: {gpu.mapping = [#gpu.loop_dim_map<processor = block_x
// SMALL-LABEL: func.func @two_loops
// SMALL: arith.constant 11 : index
func.func @two_loops(%x: memref<20x35xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %c35 = arith.constant 35 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c0, %c20, %c35, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    memref.store %v, %x[%i, %j] : memref<20x35xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// 512 iterations fill 2 blocks: no guard.

// CHECK-LABEL: func.func @full_blocks
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @full_blocks(%x: memref<512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %v = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c512, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %x[%i] : memref<512xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A loop that is not parallel gets one thread.

// CHECK-LABEL: func.func @one_thread
// CHECK: "scf.parallel"
// CHECK: scf.for
// CHECK: {gpu.mapping = [#gpu.loop_dim_map<processor = block_x
func.func @one_thread(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %v, %x[%i] : memref<4xf32>
  }
  func.return
}

// What is loaded before a loop of one iteration is loaded by its thread: the host does not read the memory.

// CHECK-LABEL: func.func @loaded
// CHECK-NOT: memref.load
// CHECK: scf.if
// CHECK: %first = memref.load %x[%c0]
// CHECK: memref.store %first, %y[%c0]
// CHECK: func.return
func.func @loaded(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<4xf32>
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %first, %y[%c0] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// So is what is computed for a store alone: no other thread reads the memory, which the store changes.

// CHECK-LABEL: func.func @computed
// CHECK-NOT: memref.load
// CHECK: scf.if
// CHECK: %[[LOADED:.*]] = memref.load %x[]
// CHECK: %[[MEAN:.*]] = arith.divf %[[LOADED]]
// CHECK: memref.store %[[MEAN]], %x[]
// CHECK: func.return
func.func @computed(%x: memref<f32>) {
  %five = arith.constant 5.0 : f32
  %sum = memref.load %x[] : memref<f32>
  %mean = arith.divf %sum, %five : f32
  memref.store %mean, %x[] : memref<f32>
  func.return
}

// A store between keeps a load before it.

// CHECK-LABEL: func.func @changed
// CHECK: %first = memref.load %x[%c0]
// CHECK: memref.store %v, %x[%c0]
// CHECK: memref.store %first, %y[%c0]
// CHECK: func.return
func.func @changed(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %first = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %x[%c0] : memref<4xf32>
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %first, %y[%c0] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// The steps of a recurrence are run by one block: its 96 threads share the elements of each parallel loop, and wait
// after each; the store in between is of the first thread, and all of them load what it stored.

// CHECK-LABEL: func.func @steps
// CHECK: "scf.parallel"(%{{.*}}, %c1, %{{.*}})
// CHECK: "scf.parallel"(%{{.*}}, %c96, %{{.*}})
// CHECK-NEXT: ^{{.*}}(%[[T:.*]]: index):
// CHECK: scf.for %step = %c0 to %n step %c1 {
// CHECK: scf.for %[[I:.*]] = %[[T]] to %c70 step %c96 {
// CHECK-NEXT: %[[COLUMN:.*]] = arith.remui %[[I]], %c35 : index
// CHECK-NEXT: %[[ROW:.*]] = arith.divui %[[I]], %c35 : index
// CHECK: memref.store %{{.*}}, %x[%[[ROW]], %[[COLUMN]]]
// CHECK: gpu.barrier
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[T]], %c0 : index
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: memref.store %v, %y[%step]
// CHECK: gpu.barrier
// CHECK-NEXT: %{{.*}} = memref.load %y[%c0]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %[[T]] to %c35 step %c96 {
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: func.return
// SMALL-LABEL: func.func @steps
// SMALL: scf.for %{{.*}} = %{{.*}} to %c70 step %c64 {
func.func @steps(%x: memref<2x35xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c35 = arith.constant 35 : index
  %v = arith.constant 1.0 : f32
  scf.for %step = %c0 to %n step %c1 {
    "scf.parallel"(%c0, %c0, %c2, %c35, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%i: index, %j: index):
      memref.store %v, %x[%i, %j] : memref<2x35xf32>
      scf.reduce
    }) : (index, index, index, index, index, index) -> ()
    memref.store %v, %y[%step] : memref<?xf32>
    %first = memref.load %y[%c0] : memref<?xf32>
    "scf.parallel"(%c0, %c35, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %first, %x[%c1, %j] : memref<2x35xf32>
      scf.reduce
    }) : (index, index, index) -> ()
  }
  func.return
}

// A buffer on the stack would be another one in each thread: one thread runs all of it.

// CHECK-LABEL: func.func @own_memory
// CHECK-NOT: gpu.barrier
// CHECK: memref.alloca
// CHECK: "scf.parallel"(%c0, %c8, %c1)
// CHECK-NOT: gpu.barrier
// CHECK: func.return
func.func @own_memory(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.for %step = %c0 to %n step %c1 {
    %own = memref.alloca() : memref<8xf32>
    "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %v, %own[%j] : memref<8xf32>
      %a = memref.load %own[%c0] : memref<8xf32>
      memref.store %a, %x[%j] : memref<8xf32>
      scf.reduce
    }) : (index, index, index) -> ()
  }
  func.return
}

// Each thread has the carried sum, which is the same in all of them.

// CHECK-LABEL: func.func @carried
// CHECK: scf.for %{{.*}} = %c0 to %n step %c1 iter_args
// CHECK: gpu.barrier
// CHECK: scf.yield
func.func @carried(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  %unused = scf.for %step = %c0 to %n step %c1 iter_args(%sum = %v) -> (f32) {
    %next = arith.addf %sum, %v : f32
    "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %next, %x[%j] : memref<8xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.yield %next : f32
  }
  func.return
}
