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

// Three tiles: the copies of two steps are started before the loop, a group each, whether there are such steps or
// not. A step waits for all groups but the last, and copies to the tile of the step before.
gpu.module @on_cuda attributes {sched.target = #target.spec<"cuda", {}>} {
  // CHECK-LABEL: @ahead
  // CHECK-SAME: memref<3x8xf32, #gpu.address_space<workgroup>>
  // CHECK: scf.if
  // CHECK: gpu.async_copy %x[%{{.*}}] to %s[%[[ZERO:.*]], %t] :
  // CHECK: gpu.async_commit
  // CHECK: scf.if
  // CHECK: gpu.async_copy %x[%{{.*}}] to %s[%[[ONE:.*]], %t] :
  // CHECK: gpu.async_commit
  // CHECK: scf.for %k = {{.*}} iter_args({{.*}}, %slot = %[[ZERO]])
  // CHECK-NEXT: gpu.async_wait 1
  // CHECK: %[[SUM:.*]] = arith.addi %slot, %[[TWO:.*]] : index
  // CHECK: %[[PREVIOUS:.*]] = arith.remui %[[SUM]], %[[THREE:.*]] : index
  // CHECK: scf.if
  // CHECK: gpu.async_copy %x[%{{.*}}] to %s[%[[PREVIOUS]], %t] :
  // CHECK: gpu.async_commit
  // CHECK: memref.load %s[%slot, %u]
  // CHECK: %[[NEXT:.*]] = arith.remui %{{.*}}, %{{.*}} : index
  // CHECK: scf.yield %{{.*}}, %[[NEXT]]
  gpu.func @ahead(%x: memref<64xf32>, %y: memref<8xf32>, %u: index)
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
    } {sched.stages = 3 : i64}
    memref.store %total, %y[%t] : memref<8xf32>
    gpu.return
  }

  // An element that does not exist is filled with 0 by the copy itself.
  // CHECK-LABEL: @filled
  // CHECK: %[[EXISTS:.*]] = arith.cmpi ult
  // CHECK: gpu.async_copy %x[%{{.*}}] to %s[%{{.*}}, %t] if %[[EXISTS]] :
  // CHECK: gpu.return
  gpu.func @filled(%x: memref<64xi32>, %y: memref<8xi32>, %u: index)
      workgroup(%s: memref<8xi32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c60 = arith.constant 60 : index
    %zero = arith.constant 0 : i32
    scf.for %k = %c0 to %c60 step %c8 {
      %i = arith.addi %k, %t : index
      %exists = arith.cmpi ult, %i, %c60 : index
      %a = memref.load %x[%i] : memref<64xi32>
      %e = arith.select %exists, %a, %zero : i32
      memref.store %e, %s[%t] : memref<8xi32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xi32, #gpu.address_space<workgroup>>
      memref.store %b, %y[%t] : memref<8xi32>
    } {sched.stages = 4 : i64}
    gpu.return
  }

  // Stores of neighbours are one copy, by which elements of 2 bytes are copied, too.
  // CHECK-LABEL: @together
  // CHECK-SAME: memref<3x8xf16, #gpu.address_space<workgroup>>
  // CHECK: gpu.async_copy %x[%[[I:.*]]] to %s[%{{.*}}, %[[P:.*]]] by 2 : memref<64xf16>
  // CHECK-NOT: memref.store {{.*}} %s
  // CHECK-NOT: sched.together
  // CHECK: gpu.return
  gpu.func @together(%x: memref<64xf16>, %y: memref<8xf16>, %u: index)
      workgroup(%s: memref<8xf16, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %p = arith.muli %t, %c2 : index
    %q = arith.addi %p, %c1 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %i = arith.addi %k, %p : index
      %j = arith.addi %i, %c1 : index
      %a = memref.load %x[%i] : memref<64xf16>
      %b = memref.load %x[%j] : memref<64xf16>
      memref.store %a, %s[%p] {sched.together = 2 : i64} : memref<8xf16, #gpu.address_space<workgroup>>
      memref.store %b, %s[%q] {sched.together = 2 : i64} : memref<8xf16, #gpu.address_space<workgroup>>
      %c = memref.load %s[%u] : memref<8xf16, #gpu.address_space<workgroup>>
      memref.store %c, %y[%t] : memref<8xf16>
    } {sched.stages = 3 : i64}
    gpu.return
  }

  // What a thread computes is no copy, nor is a fill with another number than 0; halves are too small: two tiles.
  // CHECK-LABEL: @computed
  // CHECK-SAME: memref<2x8xf32, #gpu.address_space<workgroup>>
  // CHECK-NOT: gpu.async
  // CHECK-LABEL: @ones
  // CHECK-SAME: memref<2x8xf32, #gpu.address_space<workgroup>>
  // CHECK-NOT: gpu.async
  // CHECK-LABEL: @fractions
  // CHECK-SAME: memref<2x8xf32, #gpu.address_space<workgroup>>
  // CHECK-NOT: gpu.async
  // CHECK-LABEL: @halves
  // CHECK-SAME: memref<2x8xf16, #gpu.address_space<workgroup>>
  // CHECK-NOT: gpu.async
  // CHECK-LABEL: @without
  gpu.func @computed(%x: memref<64xf32>, %y: memref<8xf32>, %u: index)
      workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %i = arith.addi %k, %t : index
      %a = memref.load %x[%i] : memref<64xf32>
      %e = arith.addf %a, %a : f32
      memref.store %e, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %b, %y[%t] : memref<8xf32>
    } {sched.stages = 3 : i64}
    gpu.return
  }
  gpu.func @ones(%x: memref<64xf32>, %y: memref<8xf32>, %u: index)
      workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %i = arith.addi %k, %t : index
      %a = memref.load %x[%i] : memref<64xf32>
      %one = arith.constant 1.0 : f32
      %is_less = arith.cmpi ult, %i, %c8 : index
      %e = arith.select %is_less, %a, %one : f32
      memref.store %e, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %b, %y[%t] : memref<8xf32>
    } {sched.stages = 3 : i64}
    gpu.return
  }
  gpu.func @fractions(%x: memref<64xf32>, %y: memref<8xf32>, %u: index)
      workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %i = arith.addi %k, %t : index
      %a = memref.load %x[%i] : memref<64xf32>
      %one = arith.constant 0.5 : f32
      %is_less = arith.cmpi ult, %i, %c8 : index
      %e = arith.select %is_less, %a, %one : f32
      memref.store %e, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %b, %y[%t] : memref<8xf32>
    } {sched.stages = 3 : i64}
    gpu.return
  }
  gpu.func @halves(%x: memref<64xf16>, %y: memref<8xf16>, %u: index)
      workgroup(%s: memref<8xf16, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %i = arith.addi %k, %t : index
      %a = memref.load %x[%i] : memref<64xf16>
      memref.store %a, %s[%t] : memref<8xf16, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf16, #gpu.address_space<workgroup>>
      memref.store %b, %y[%t] : memref<8xf16>
    } {sched.stages = 3 : i64}
    gpu.return
  }
}

// A target without asynchronous copies has two tiles.
// CHECK-SAME: memref<2x8xf32, #gpu.address_space<workgroup>>
// CHECK-NOT: gpu.async
gpu.module @on_turing attributes {sched.target = #target.spec<"cuda", {arch = "sm_75"}>} {
  gpu.func @without(%x: memref<64xf32>, %y: memref<8xf32>, %u: index)
      workgroup(%s: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %i = arith.addi %k, %t : index
      %a = memref.load %x[%i] : memref<64xf32>
      memref.store %a, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %b, %y[%t] : memref<8xf32>
    } {sched.stages = 3 : i64}
    gpu.return
  }
}
