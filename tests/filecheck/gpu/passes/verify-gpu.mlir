// RUN: stepwell-opt %s -p 'verify-gpu{target=webgpu}' | filecheck %s

// 16 KiB are what every implementation of WebGPU has.

// CHECK: gpu.func @fits
gpu.module @m {
  gpu.func @fits(%x: memref<4xf32>) workgroup(%s: memref<64x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
    gpu.return
  }
}
