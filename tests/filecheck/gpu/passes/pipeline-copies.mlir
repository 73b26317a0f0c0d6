// RUN: stepwell-opt %s -p pipeline-copies | filecheck %s

gpu.module @m {
  // CHECK-LABEL: @k
  // CHECK: memref<2x8xf32, #gpu.address_space<workgroup>>
  // CHECK: scf.if
  // CHECK: memref.store %{{.*}}, %s[%[[ZERO:.*]], %t]
  // CHECK: scf.for %k = {{.*}} iter_args({{.*}}, %slot = %[[ZERO]])
  // CHECK: %[[A:.*]] = memref.load %x
  // CHECK: memref.load %s[%slot, %u]
  // CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %slot
  // CHECK: memref.store %[[A]], %s[%[[OTHER]], %t]
  // CHECK: scf.yield %{{.*}}, %[[OTHER]]
  gpu.func @k(%x: memref<64xf32>, %y: memref<8xf32>, %u: index)
      workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %total = scf.for %k = %c0 to %c64 step %c8 iter_args(%sum = %zero) -> (f32) {
      %i = arith.addi %k, %t : index
      %a = memref.load %x[%i] : memref<64xf32>
      memref.store %a, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf32, #gpu.address_space<workgroup>>
      %next = arith.addf %sum, %b : f32
      scf.yield %next : f32
    } {sched.stages = 2 : i64}
    memref.store %total, %y[%t] : memref<8xf32>
    gpu.return
  }

  // What is read before it is copied is of the step before: nothing changes.
  // CHECK-LABEL: @carried
  // CHECK-NOT: memref<2x8xf32
  // CHECK: gpu.return
  gpu.func @carried(%x: memref<64xf32>) workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %a = memref.load %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %a, %x[%k] : memref<64xf32>
      memref.store %a, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
    } {sched.stages = 2 : i64}
    gpu.return
  }
}
