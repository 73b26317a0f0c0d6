// RUN: stepwell-opt %s -p 'prefetch-rows{mcpu=x86-64-v4}' | filecheck %s
// RUN: stepwell-opt %s -p 'prefetch-rows{mcpu=x86-64-v4},prefetch-rows{mcpu=x86-64-v4}' | filecheck %s
// RUN: stepwell-opt %s -p 'prefetch-rows{mcpu=x86-64-v4},expand-math{mcpu=x86-64-v4},convert-loops-to-llvm{mcpu=x86-64-v4}' | filecheck %s --check-prefix=LLVM
// RUN: stepwell-opt %s -p 'prefetch-rows{mcpu=x86-64-v4}' | stepwell-opt - -p 'expand-math{mcpu=x86-64-v4},convert-loops-to-llvm{mcpu=x86-64-v4}' | filecheck %s --check-prefix=LLVM

// The loop of the exponentials asks for the row that the first loop is to read next.
// CHECK-LABEL: @rows
// CHECK: vector.transfer_read %x[%{{.*}}, %{{.*}}], %{{.*}} {in_bounds = [true]}
// CHECK: vector.transfer_read %x[%{{.*}}, %{{.*}}], %{{.*}} {sched.prefetch = 1024 : i64, in_bounds = [true]}
// CHECK-NEXT: math.exp
// LLVM-LABEL: llvm.func internal @rows.body0
// LLVM: %[[LINE:.*]] = llvm.getelementptr %{{.*}}[1024] : (!llvm.ptr) -> !llvm.ptr, f32
// LLVM: llvm.intr.prefetch(%[[LINE]]) {rw = 0 : i32, hint = 3 : i32}
func.func private @rows(%x: memref<16x1024xf32>, %out: memref<16x1024xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %rows = arith.constant 16 : index
  %columns = arith.constant 1024 : index
  "scf.parallel"(%c0, %rows, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %top = scf.for %j = %c0 to %columns step %c16 iter_args(%so_far = %none) -> (vector<16xf32>) {
      %a = vector.transfer_read %x[%i, %j], %zero {in_bounds = [true]} : memref<16x1024xf32>, vector<16xf32>
      %m = arith.addf %so_far, %a : vector<16xf32>
      scf.yield %m : vector<16xf32>
    }
    scf.for %j = %c0 to %columns step %c16 {
      %a = vector.transfer_read %x[%i, %j], %zero {in_bounds = [true]} : memref<16x1024xf32>, vector<16xf32>
      %p = math.exp %a : vector<16xf32>
      %q = arith.mulf %p, %top : vector<16xf32>
      vector.transfer_write %q, %out[%i, %j] {in_bounds = [true]} : vector<16xf32>, memref<16x1024xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Not where no loop has read the row before: a processor fetches what follows by itself. Nor rows that the
// cache does not hold beside others.
// CHECK-LABEL: @once
// CHECK-NOT: sched.prefetch
func.func private @once(%x: memref<16x1024xf32>, %z: memref<4x100000xf32>, %out: memref<16x1024xf32>) attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %rows = arith.constant 16 : index
  %columns = arith.constant 1024 : index
  "scf.parallel"(%c0, %rows, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.for %j = %c0 to %columns step %c16 {
      %a = vector.transfer_read %x[%i, %j], %zero {in_bounds = [true]} : memref<16x1024xf32>, vector<16xf32>
      %p = math.exp %a : vector<16xf32>
      vector.transfer_write %p, %out[%i, %j] {in_bounds = [true]} : vector<16xf32>, memref<16x1024xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.for %j = %c0 to %columns step %c16 {
      %a = vector.transfer_read %z[%i, %j], %zero {in_bounds = [true]} : memref<4x100000xf32>, vector<16xf32>
      vector.transfer_write %a, %out[%i, %j] {in_bounds = [true]} : vector<16xf32>, memref<16x1024xf32>
    }
    scf.for %j = %c0 to %columns step %c16 {
      %a = vector.transfer_read %z[%i, %j], %zero {in_bounds = [true]} : memref<4x100000xf32>, vector<16xf32>
      %p = math.exp %a : vector<16xf32>
      vector.transfer_write %p, %out[%i, %j] {in_bounds = [true]} : vector<16xf32>, memref<16x1024xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
