// RUN: stepwell-opt %s -p mark-in-place | filecheck %s

// Each element is read before it is written, and no other iteration of the parallel loop touches it.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 1, in_place = [0 over 0]>
func.func @elementwise(%x: memref<4x32xf32>, %y: memref<4x32xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  "scf.parallel"(%c0, %c0, %c4, %c32, %c1, %c8) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = vector.transfer_read %x[%i, %j], %zero {in_bounds = [true]} : memref<4x32xf32>, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    vector.transfer_write %w, %y[%i, %j] {in_bounds = [true]} : vector<8xf32>, memref<4x32xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// A vector longer than the step reads what the next iteration has written, or the one before.
// CHECK-LABEL: func.func @overlapping
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 1>
func.func @overlapping(%x: memref<32xf32>, %y: memref<32xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c28 = arith.constant 28 : index
  %zero = arith.constant 0.0 : f32
  "scf.parallel"(%c0, %c28, %c4) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<32xf32>, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    vector.transfer_write %w, %y[%i] {in_bounds = [true]} : vector<8xf32>, memref<32xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A row is read as a whole before it is written: a later iteration reads another row.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: symbols = ["N"], in_place = [0 over 1]>
func.func @rows(%w: memref<8xf32>, %x: memref<?x8xf32> {graph.dims = #graph.dims<["N", 8]>}, %y: memref<?x8xf32> {graph.dims = #graph.dims<["N", 8]>}, %N: index)
    attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["N"]>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %N step %c1 {
    %row = memref.alloca() : memref<8xf32>
    scf.for %j = %c0 to %c8 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x8xf32>
      memref.store %v, %row[%j] : memref<8xf32>
    }
    %part = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    scf.for %j = %c0 to %c8 step %c1 {
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
        %v = memref.load %row[%k] : memref<8xf32>
        %f = memref.load %w[%j] : memref<8xf32>
        %p = arith.mulf %v, %f : f32
        %t = arith.addf %s, %p : f32
        scf.yield %t : f32
      }
      memref.store %sum, %part[%j] : memref<8xf32, strided<[1], offset: ?>>
    }
  }
  func.return
}

// Without the copy, an element of the row is read after it was written; and a sum over rows reads later ones again.
// CHECK-LABEL: func.func @row_read_again
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 1>
func.func @row_read_again(%x: memref<4x8xf32>, %y: memref<4x8xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
        %v = memref.load %x[%i, %k] : memref<4x8xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      memref.store %sum, %y[%i, %j] : memref<4x8xf32>
    }
  }
  func.return
}

// Forwards, an element is read one iteration before it is written; in a parallel loop it may be the other way round.
// CHECK-LABEL: func.func @shift
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 1, in_place = [0 over 0]>
func.func @shift(%x: memref<9xf32>, %y: memref<9xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.addi %i, %c1 : index
    %v = memref.load %x[%j] : memref<9xf32>
    memref.store %v, %y[%i] : memref<9xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @parallel_shift
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 1>
func.func @parallel_shift(%x: memref<9xf32>, %y: memref<9xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "scf.parallel"(%c0, %c8, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %j = arith.addi %i, %c1 : index
    %v = memref.load %x[%j] : memref<9xf32>
    memref.store %v, %y[%i] : memref<9xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Indices from data may be any; a result of another size is not looked at.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: #sched.kernel<inputs = 2, outputs = 1>
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
// CHECK-LABEL: func.func @narrower
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 1>
func.func @narrower(%x: memref<8xf32>, %y: memref<8xi8>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %n = arith.fptosi %v : f32 to i8
    memref.store %n, %y[%i] : memref<8xi8>
  }
  func.return
}

// Pixels in blocks: other iterations read other pixels of every channel, in two shapes of one layout.
// CHECK-LABEL: func.func @pixels
// CHECK-SAME: in_place = [0 over 0]>
func.func @pixels(%x: memref<1x4x2x8xf32>, %y: memref<4x16xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %flat = memref.collapse_shape %x [[0 : i64, 1 : i64], [2 : i64, 3 : i64]] : memref<1x4x2x8xf32> into memref<4x16xf32>
  scf.for %p = %c0 to %c16 step %c2 {
    %q = arith.addi %p, %c1 : index
    %a = memref.load %flat[%c1, %p] : memref<4x16xf32>
    %b = memref.load %flat[%c2, %q] : memref<4x16xf32>
    %s = arith.addf %a, %b : f32
    scf.for %c = %c0 to %c4 step %c1 {
      memref.store %s, %y[%c, %p] : memref<4x16xf32>
      memref.store %s, %y[%c, %q] : memref<4x16xf32>
    }
  }
  func.return
}

// Scalars: %out0 is written before %y is read, %out1 and %out2 after all reads of %x.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: #sched.kernel<inputs = 2, outputs = 3, in_place = [1 over 0, 2 over 0, 2 over 1]>
func.func @scalars(%x: memref<f32>, %y: memref<f32>, %out0: memref<f32>, %out1: memref<f32>, %out2: memref<1x1xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 3>} {
  %c0 = arith.constant 0 : index
  %a = memref.load %y[] : memref<f32>
  memref.store %a, %out0[] : memref<f32>
  %b = memref.load %x[] : memref<f32>
  %s = arith.addf %a, %b : f32
  memref.store %s, %out1[] : memref<f32>
  %c = memref.load %y[] : memref<f32>
  memref.store %c, %out2[%c0, %c0] : memref<1x1xf32>
  func.return
}

// A scalar as a vector of one element.
// CHECK-LABEL: func.func @reshaped_scalar
// CHECK-SAME: #sched.kernel<inputs = 1, outputs = 2, in_place = [1 over 0]>
func.func @reshaped_scalar(%x: memref<1xf32>, %out0: memref<f32>, %out1: memref<f32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 2>} {
  %scalar = memref.collapse_shape %x [] : memref<1xf32> into memref<f32>
  %one = memref.expand_shape %out1 [] output_shape [1] : memref<f32> into memref<1xf32>
  %c0 = arith.constant 0 : index
  %a = memref.load %scalar[] : memref<f32>
  memref.store %a, %out0[] : memref<f32>
  %b = memref.load %x[%c0] : memref<1xf32>
  memref.store %b, %one[%c0] : memref<1xf32>
  func.return
}
