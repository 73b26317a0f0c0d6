// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p 'verify-gpu{target=webgpu}'

gpu.module @m {
  // expected-error: @k needs more bytes of memory of a block: 65536, and webgpu has 16384
  gpu.func @k() workgroup(%s: memref<128x128xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error: @k has blocks of more threads: 512, and webgpu has 256
  gpu.func @k() kernel attributes {gpu.known_block_size = array<i32: 512, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error: @k has blocks of more threads along z: 128, and webgpu has 64
  gpu.func @k() kernel attributes {gpu.known_block_size = array<i32: 1, 1, 128>} {
    gpu.return
  }
}

// -----

gpu.module @m attributes {sched.target = #target.spec<"cuda", {arch = "sm_86"}>} {
  // expected-error: @k needs more bytes of memory of a block: 131072, and cuda{arch=sm_86} has 101376
  gpu.func @k() workgroup(%s: memref<256x128xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error: @k takes more buffers: 9, and webgpu has 8
  gpu.func @k(%a: memref<1xf32>, %b: memref<1xf32>, %c: memref<1xf32>, %d: memref<1xf32>, %e: memref<1xf32>,
      %f: memref<1xf32>, %g: memref<1xf32>, %h: memref<1xf32>, %i: memref<1xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m attributes {sched.target = #target.spec<"cuda", {arch = "sm_75"}>} {
  gpu.func @k(%x: memref<4xf32>, %i: index) workgroup(%s: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    // expected-error: @k has asynchronous copies, and cuda{arch=sm_75} has none
    gpu.async_copy %x[%i] to %s[%i] : memref<4xf32> to memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
