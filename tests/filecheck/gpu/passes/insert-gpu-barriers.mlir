// RUN: stepwell-opt %s -p insert-gpu-barriers | filecheck %s

gpu.module @m {
  // CHECK-LABEL: @reverse
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  gpu.func @reverse(%x: memref<32xf32>, %u: index) workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel
      attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<32xf32>
    memref.store %a, %s[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    %b = memref.load %s[%u] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %b, %x[%t] : memref<32xf32>
    gpu.return
  }

  // Before the loads, and before the stores of the next iteration. The condition depends on the thread: the
  // barrier is before it. The second store is of other elements: 32 threads, 32 further.
  // CHECK-LABEL: @loop
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.if
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @loop(%x: memref<32xf32>, %u: index) workgroup(%s: memref<8x8xf32, #gpu.address_space<workgroup>>) kernel
      attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %later = arith.addi %t, %c32 : index
    %i = arith.divui %t, %c8 : index
    %j = arith.remui %t, %c8 : index
    %k = arith.divui %later, %c8 : index
    %l = arith.remui %later, %c8 : index
    %is_first = arith.cmpi eq, %t, %c0 : index
    %v = memref.load %x[%t] : memref<32xf32>
    scf.for %n = %c0 to %c8 step %c1 {
      memref.store %v, %s[%i, %j] : memref<8x8xf32, #gpu.address_space<workgroup>>
      memref.store %v, %s[%k, %l] : memref<8x8xf32, #gpu.address_space<workgroup>>
      scf.if %is_first {
        %a = memref.load %s[%u, %n] : memref<8x8xf32, #gpu.address_space<workgroup>>
        memref.store %a, %x[%n] : memref<32xf32>
      }
    }
    gpu.return
  }
}
