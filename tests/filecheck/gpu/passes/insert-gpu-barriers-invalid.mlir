// RUN: stepwell-opt %s -p insert-gpu-barriers --verify-diagnostics

gpu.module @m {
  gpu.func @k(%x: memref<32xf32>) workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
    // expected-error: a copy of memory of a block
    "memref.copy"(%x, %s) : (memref<32xf32>, memref<32xf32, #gpu.address_space<workgroup>>) -> ()
    gpu.return
  }
}
