// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// Each op of the dialect in MLIR's syntax, and back from the generic form.

// CHECK: gpu.module @k0 attributes {sched.target = #target.spec<"cuda", {arch = "sm_90"}>} {
// CHECK: gpu.func @k0(%x: memref<48x96xf32>, %n: index) workgroup(%s: memref<16x16xf32, #gpu.address_space<workgroup>>) private(%p: memref<4xf32, #gpu.address_space<private>>) kernel attributes {gpu.known_block_size = array<i32: 16, 16, 1>} {
// CHECK: gpu.thread_id x
// CHECK: gpu.block_id y
// CHECK: gpu.block_dim z
// CHECK: gpu.grid_dim x
// CHECK: gpu.global_id x
// CHECK: gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK: gpu.async_copy %x[%t, %b] to %s[%t, %t] : memref<48x96xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.async_copy %x[%t, %b] to %s[%t, %t] if %ok : memref<48x96xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.async_copy %x[%t, %b] to %s[%t, %t] by 4 if %ok : memref<48x96xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.async_commit
// CHECK: gpu.async_wait 1
// CHECK: gpu.shuffle xor %c, %o, %o : f32
// CHECK: gpu.subgroup_reduce add %v : (f32) -> f32
// CHECK: gpu.all_reduce add %r {} : (f32) -> f32
// CHECK: gpu.all_reduce maximumf %r uniform {} : (f32) -> f32
// CHECK: gpu.to_tf32 %v : f32
// CHECK: gpu.mma_sync "m16n8k8.tf32" a(%v, %v, %v, %v) b(%v, %v) c(%v, %v, %v, %v) : f32, f32, f32, f32
// CHECK: gpu.lane_id
// CHECK: gpu.subgroup_id : index
// CHECK: gpu.subgroup_size : index
// CHECK: gpu.return
// CHECK: gpu.func @helper(%a: f32) {
// CHECK: "gpu.work"(%c1) : (index) -> ()
// CHECK: gpu.launch_func @k0::@k0 blocks in (%c1, %c1, %c1) threads in (%c16, %c16, %c1) args(%x : memref<48x96xf32>, %c1 : index)
// CHECK: gpu.launch_func @k0::@k0 blocks in (%c1, %c1, %c1) threads in (%c16, %c16, %c1) dynamic_shared_memory_size %bytes args(%x : memref<48x96xf32>, %c1 : index)
// CHECK: gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c16, %sy = %c16, %sz = %c1) {
// CHECK: gpu.terminator
builtin.module attributes {gpu.container_module} {
gpu.module @k0 attributes {sched.target = #target.spec<"cuda", {arch = "sm_90"}>} {
  gpu.func @k0(%x: memref<48x96xf32>, %n: index) workgroup(%s: memref<16x16xf32, #gpu.address_space<workgroup>>)
      private(%p: memref<4xf32, #gpu.address_space<private>>) kernel
      attributes {gpu.known_block_size = array<i32: 16, 16, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id y
    %z = gpu.block_dim z
    %g = gpu.grid_dim x
    %i = gpu.global_id x
    %c = arith.constant 0.0 : f32
    %o = arith.constant 1 : i32
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.barrier
    gpu.async_copy %x[%t, %b] to %s[%t, %t] : memref<48x96xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
    %ok = arith.constant true
    gpu.async_copy %x[%t, %b] to %s[%t, %t] if %ok
        : memref<48x96xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
    gpu.async_copy %x[%t, %b] to %s[%t, %t] by 4 if %ok
        : memref<48x96xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
    gpu.async_commit
    gpu.async_wait 1
    %v, %valid = gpu.shuffle xor %c, %o, %o : f32
    %r = gpu.subgroup_reduce add %v : (f32) -> f32
    %all = gpu.all_reduce add %r {} : (f32) -> f32
    %top = gpu.all_reduce maximumf %r uniform {} : (f32) -> f32
    %t32 = gpu.to_tf32 %v : f32
    %d0, %d1, %d2, %d3 = gpu.mma_sync "m16n8k8.tf32" a(%v, %v, %v, %v) b(%v, %v) c(%v, %v, %v, %v) : f32, f32, f32, f32
    %l = gpu.lane_id
    %q = gpu.subgroup_id : index
    %w = gpu.subgroup_size : index
    gpu.return
  }
  gpu.func @helper(%a: f32) {
    gpu.return
  }
}
func.func @main(%x: memref<48x96xf32>) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  "gpu.work"(%c1) : (index) -> ()
  gpu.launch_func @k0::@k0 blocks in (%c1, %c1, %c1) threads in (%c16, %c16, %c1) args(%x : memref<48x96xf32>, %c1 : index)
  %bytes = arith.constant 1024 : i32
  gpu.launch_func @k0::@k0 blocks in (%c1, %c1, %c1) threads in (%c16, %c16, %c1)
      dynamic_shared_memory_size %bytes args(%x : memref<48x96xf32>, %c1 : index)
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
     threads(%tx, %ty, %tz) in (%sx = %c16, %sy = %c16, %sz = %c1) {
     %f = arith.constant 1.0 : f32
     memref.store %f, %x[%tx, %ty] : memref<48x96xf32>
     gpu.terminator
  }
  func.return
}
}
