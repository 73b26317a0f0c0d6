// RUN: stepwell-opt %s -p stage-overwritten,mark-in-place | filecheck %s

// Each pixel is read again for each channel of the result: its column is copied before the first channel is written.
// CHECK-LABEL: func.func @pixels
// CHECK-SAME: in_place = [0 over 0]>
func.func @pixels(%x: memref<4x8xf32>, %w: memref<4x4xf32>, %y: memref<4x8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: "scf.parallel"
  // CHECK-NEXT: ^bb0(%[[P:.*]]: index):
  "scf.parallel"(%c0, %c8, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%p: index):
    %q = arith.addi %p, %c1 : index
    // CHECK: %[[OWN:.*]] = memref.alloca() : memref<4x2xf32>
    // CHECK: scf.for %[[K:[a-z0-9_]+]] = %
    // CHECK: scf.for %[[L:[a-z0-9_]+]] = %
    // CHECK: %[[Q:.*]] = arith.addi %[[P]], %[[L]]
    // CHECK: %[[V:.*]] = memref.load %x[%[[K]], %[[Q]]]
    // CHECK: memref.store %[[V]], %[[OWN]][%[[K]], %[[L]]]
    // CHECK: scf.for
    scf.for %c = %c0 to %c4 step %c1 {
      // CHECK: scf.for %[[K:[a-z0-9_]+]] = %
      %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (f32) {
        // CHECK: memref.load %[[OWN]][%[[K]], %{{.*}}] : memref<4x2xf32>
        // CHECK: memref.load %[[OWN]][%[[K]], %{{.*}}] : memref<4x2xf32>
        %a = memref.load %x[%k, %p] : memref<4x8xf32>
        %b = memref.load %x[%k, %q] : memref<4x8xf32>
        %f = memref.load %w[%c, %k] : memref<4x4xf32>
        %d = arith.mulf %a, %f : f32
        %e = arith.addf %b, %d : f32
        %t = arith.addf %s, %e : f32
        scf.yield %t : f32
      }
      memref.store %sum, %y[%c, %p] : memref<4x8xf32>
      memref.store %sum, %y[%c, %q] : memref<4x8xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A loop that begins at 2, and a row of its own after it.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: in_place = [0 over 0]>
// CHECK: memref.alloca() : memref<1x8xf32>
// CHECK: memref.alloca() : memref<1x8xf32>
func.func @parts(%x: memref<6x8xf32>, %y: memref<6x8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c2 to %c5 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
        %v = memref.load %x[%i, %k] : memref<6x8xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      memref.store %sum, %y[%i, %j] : memref<6x8xf32>
    }
  }
  scf.for %j = %c0 to %c8 step %c1 {
    %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = memref.load %x[%c1, %k] : memref<6x8xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %sum, %y[%c1, %j] : memref<6x8xf32>
  }
  func.return
}

// What is in place as it is has no copy; nor have reads of more than 1024 bytes, and those by indices from data.
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT: memref.alloca
func.func @elementwise(%x: memref<8xf32>, %y: memref<8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @many
// CHECK-NOT: memref.alloca
func.func @many(%x: memref<257xf32>, %y: memref<257xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c257 = arith.constant 257 : index
  scf.for %i = %c0 to %c257 step %c1 {
    %j = arith.subi %c256, %i : index
    %v = memref.load %x[%j] : memref<257xf32>
    memref.store %v, %y[%i] : memref<257xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @gather
// CHECK-NOT: memref.alloca
func.func @gather(%x: memref<8xf32>, %at: memref<8xindex>, %y: memref<8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %j = memref.load %at[%i] : memref<8xindex>
    %v = memref.load %x[%j] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// A box may be larger than what is read, here by a row before the first one, and by two elements behind the last:
// the copy would read memory that is not the operand's.
// CHECK-LABEL: func.func @branch
// CHECK-NOT: memref.alloca
func.func @branch(%x: memref<4x8xf32>, %y: memref<4x8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %above = arith.subi %j, %c1 : index
      %is_inside = arith.cmpi sge, %above, %c0 : index
      scf.if %is_inside {
        %v = memref.load %x[%above, %i] : memref<4x8xf32>
        memref.store %v, %y[%j, %i] : memref<4x8xf32>
      }
    }
  }
  func.return
}
// CHECK-LABEL: func.func @last_tile
// CHECK-NOT: memref.alloca
func.func @last_tile(%x: memref<10xf32>, %y: memref<10xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c10 step %c4 {
    %left = arith.subi %c10, %i : index
    %size = arith.minsi %left, %c4 : index
    scf.for %j = %c0 to %size step %c1 {
      %sum = scf.for %k = %c0 to %size step %c1 iter_args(%s = %zero) -> (f32) {
        %at = arith.addi %i, %k : index
        %v = memref.load %x[%at] : memref<10xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      %to = arith.addi %i, %j : index
      memref.store %sum, %y[%to] : memref<10xf32>
    }
  }
  func.return
}

// A scalar is not staged.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: memref.alloca
func.func @scalar(%x: memref<f32>, %y: memref<f32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %one = arith.constant 1.0 : f32
  memref.store %one, %y[] : memref<f32>
  %v = memref.load %x[] : memref<f32>
  memref.store %v, %y[] : memref<f32>
  func.return
}
