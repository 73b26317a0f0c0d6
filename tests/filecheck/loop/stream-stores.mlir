// RUN: stepwell-opt %s -p 'stream-stores{mcpu=x86-64-v4}' | filecheck %s
// RUN: stepwell-opt %s -p 'stream-stores{mcpu=x86-64-v4},stream-stores{mcpu=x86-64-v4}' | filecheck %s
// RUN: stepwell-opt %s -p 'stream-stores{mcpu=x86-64-v4},convert-loops-to-llvm{mcpu=x86-64-v4}' | filecheck %s --check-prefix=LLVM

// 8 MiB are read and written together, as much as the last cache of the target holds.
// CHECK-LABEL: @large
// CHECK: %[[ADDRESS:.*]] = "memref.extract_aligned_pointer_as_index"(%out)
// CHECK: %[[REST:.*]] = arith.andi %[[ADDRESS]]
// CHECK: %[[ON_LINE:.*]] = arith.cmpi eq, %[[REST]]
// CHECK: scf.if %[[ON_LINE]] {
// CHECK-NEXT: %[[LINES:.*]] = memref.assume_alignment %out, 64
// CHECK-NEXT: "scf.parallel"
// CHECK: vector.store %{{.*}}, %[[LINES]][%{{.*}}] {nontemporal = true}
// CHECK: vector.store %{{.*}}, %[[LINES]][%{{.*}}] {nontemporal = true}
// CHECK: } else {
// CHECK: "scf.parallel"
// CHECK-NOT: nontemporal
// CHECK: vector.transfer_write %{{.*}}, %out
// LLVM-LABEL: llvm.func @large
// LLVM: llvm.ptrtoint %{{.*}} : !llvm.ptr to i64
// LLVM-LABEL: llvm.func internal @large.body1
// LLVM-NOT: nontemporal
// LLVM: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<16xf32>
// LLVM-LABEL: llvm.func internal @large.body0
// LLVM-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 64 : i64, nontemporal} : vector<16xf32>
func.func private @large(%x: memref<1048576xf32>, %out: memref<1048576xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %n = arith.constant 131072 : index
  "scf.parallel"(%c0, %n, %c32) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %j = arith.addi %i, %c16 : index
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<1048576xf32>, vector<16xf32>
    %b = vector.transfer_read %x[%j], %zero {in_bounds = [true]} : memref<1048576xf32>, vector<16xf32>
    vector.transfer_write %a, %out[%i] {in_bounds = [true]} : vector<16xf32>, memref<1048576xf32>
    vector.transfer_write %b, %out[%j] {in_bounds = [true]} : vector<16xf32>, memref<1048576xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// What stays in the cache is written to it.
// CHECK-LABEL: @small
// CHECK-NOT: nontemporal
func.func private @small(%x: memref<65536xf32>, %out: memref<65536xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = arith.constant 4096 : index
  "scf.parallel"(%c0, %n, %c16) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<65536xf32>, vector<16xf32>
    vector.transfer_write %a, %out[%i] {in_bounds = [true]} : vector<16xf32>, memref<65536xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Half a line in each iteration: the other half would be fetched back.
// CHECK-LABEL: @parts_of_lines
// CHECK-NOT: nontemporal
func.func private @parts_of_lines(%x: memref<2097152xf32>, %out: memref<2097152xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 4096 : index
  "scf.parallel"(%c0, %n, %c8) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<2097152xf32>, vector<8xf32>
    vector.transfer_write %a, %out[%i] {in_bounds = [true]} : vector<8xf32>, memref<2097152xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Each vector is half in one line and half in the next.
// CHECK-LABEL: @across_lines
// CHECK-NOT: nontemporal
func.func private @across_lines(%x: memref<2097152xf32>, %out: memref<2097152xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %n = arith.constant 4096 : index
  "scf.parallel"(%c0, %n, %c16) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<2097152xf32>, vector<16xf32>
    %j = arith.addi %i, %c8 : index
    vector.transfer_write %a, %out[%j] {in_bounds = [true]} : vector<16xf32>, memref<2097152xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// What is read again is wanted in the cache; rows of 1023 do not start on lines.
// CHECK-LABEL: @read_again
// CHECK-NOT: nontemporal
func.func private @read_again(%x: memref<2048x1023xf32>, %out: memref<2048x1024xf32>, %odd: memref<2048x1023xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = arith.constant 64 : index
  %m = arith.constant 1008 : index
  "scf.parallel"(%c0, %c0, %n, %m, %c1, %c16) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %a = vector.transfer_read %x[%i, %j], %zero {in_bounds = [true]} : memref<2048x1023xf32>, vector<16xf32>
    vector.transfer_write %a, %odd[%i, %j] {in_bounds = [true]} : vector<16xf32>, memref<2048x1023xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  "scf.parallel"(%c0, %c0, %n, %m, %c1, %c16) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %a = vector.transfer_read %out[%i, %j], %zero {in_bounds = [true]} : memref<2048x1024xf32>, vector<16xf32>
    vector.transfer_write %a, %out[%i, %j] {in_bounds = [true]} : vector<16xf32>, memref<2048x1024xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// Vectors of 16 bytes, the shortest that such stores have: four fill a line.
// CHECK-LABEL: @short_vectors
// CHECK-COUNT-4: vector.store %{{.*}} {nontemporal = true} : memref<1048576xf32>, vector<4xf32>
func.func private @short_vectors(%x: memref<1048576xf32>, %out: memref<1048576xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  %n = arith.constant 1048576 : index
  "scf.parallel"(%c0, %n, %c16) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<1048576xf32>, vector<4xf32>
    vector.transfer_write %a, %out[%i] {in_bounds = [true]} : vector<4xf32>, memref<1048576xf32>
    %i4 = arith.addi %i, %c4 : index
    %a4 = vector.transfer_read %x[%i4], %zero {in_bounds = [true]} : memref<1048576xf32>, vector<4xf32>
    vector.transfer_write %a4, %out[%i4] {in_bounds = [true]} : vector<4xf32>, memref<1048576xf32>
    %i8 = arith.addi %i, %c8 : index
    %a8 = vector.transfer_read %x[%i8], %zero {in_bounds = [true]} : memref<1048576xf32>, vector<4xf32>
    vector.transfer_write %a8, %out[%i8] {in_bounds = [true]} : vector<4xf32>, memref<1048576xf32>
    %i12 = arith.addi %i, %c12 : index
    %a12 = vector.transfer_read %x[%i12], %zero {in_bounds = [true]} : memref<1048576xf32>, vector<4xf32>
    vector.transfer_write %a12, %out[%i12] {in_bounds = [true]} : vector<4xf32>, memref<1048576xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
