// RUN: stepwell-opt %s --verify-diagnostics -p gpu-kernel-outlining,verify-gpu

builtin.module attributes {sched.target = #target.spec<"webgpu", {}>} {
  func.func @f(%x: memref<512xf32>) {
    %c1 = arith.constant 1 : index
    %c512 = arith.constant 512 : index
    // expected-error: @f_kernel has blocks of more threads: 512, and webgpu has 256
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
        threads(%tx, %ty, %tz) in (%sx = %c512, %sy = %c1, %sz = %c1) {
      %v = memref.load %x[%tx] : memref<512xf32>
      memref.store %v, %x[%tx] : memref<512xf32>
      gpu.terminator
    }
    func.return
  }
}
