// RUN: stepwell-opt %s -p gpu-kernel-outlining | filecheck %s
// RUN: stepwell-opt %s -p gpu-kernel-outlining,verify-gpu | filecheck %s

// The target of the module is that of its kernels, and `verify-gpu` asks it without an option.

// CHECK: builtin.module attributes {sched.target = #target.spec<"cuda", {arch = "sm_86"}>, gpu.container_module}
// CHECK: gpu.module @f_kernel attributes {sched.target = #target.spec<"cuda", {arch = "sm_86"}>} {
// CHECK: gpu.func @f_kernel(%x: memref<64xf32>) workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
builtin.module attributes {sched.target = #target.spec<"cuda", {arch = "sm_86"}>} {
  func.func @f(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
        threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
      %s = memref.alloc() : memref<64xf32, #gpu.address_space<workgroup>>
      %v = memref.load %x[%tx] : memref<64xf32>
      memref.store %v, %s[%tx] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.terminator
    }
    func.return
  }
}
