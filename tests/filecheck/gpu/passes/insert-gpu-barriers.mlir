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

  // After a wait other threads do not see what arrived, so a barrier comes before the next access. The tile after
  // next, of three, is none that the step reads.
  // CHECK-LABEL: @tiles
  // CHECK: scf.for
  // CHECK: gpu.async_wait 1
  // CHECK: gpu.barrier
  // CHECK-NEXT: gpu.async_copy
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @tiles(%x: memref<32xf32>, %u: index) workgroup(%s: memref<3x32xf32, #gpu.address_space<workgroup>>)
      kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    scf.for %n = %c0 to %c8 step %c1 iter_args(%slot = %c0) -> (index) {
      gpu.async_wait 1
      %sum = arith.addi %slot, %c2 : index
      %other = arith.remui %sum, %c3 : index
      gpu.async_copy %x[%t] to %s[%other, %t] : memref<32xf32> to memref<3x32xf32, #gpu.address_space<workgroup>>
      gpu.async_commit
      %a = memref.load %s[%slot, %u] : memref<3x32xf32, #gpu.address_space<workgroup>>
      memref.store %a, %x[%t] : memref<32xf32>
      %next = arith.addi %slot, %c1 : index
      %following = arith.remui %next, %c3 : index
      scf.yield %following : index
    }
    gpu.return
  }

  // Three further modulo three is the same tile.
  // CHECK-LABEL: @one_tile
  // CHECK: gpu.async_copy
  // CHECK: gpu.barrier
  // CHECK: memref.load
  gpu.func @one_tile(%x: memref<32xf32>, %u: index, %slot: index)
      workgroup(%s: memref<3x32xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c3 = arith.constant 3 : index
    %sum = arith.addi %slot, %c3 : index
    %other = arith.remui %sum, %c3 : index
    gpu.async_copy %x[%t] to %s[%other, %t] : memref<32xf32> to memref<3x32xf32, #gpu.address_space<workgroup>>
    %a = memref.load %s[%slot, %u] : memref<3x32xf32, #gpu.address_space<workgroup>>
    memref.store %a, %x[%t] : memref<32xf32>
    gpu.return
  }
}
