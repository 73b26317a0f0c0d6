// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p convert-gpu-to-rocdl

gpu.module @m {
  // expected-error: @k asks for its block's size, which is not known
  gpu.func @k(%x: memref<8xindex>) kernel {
    %n = gpu.block_dim x
    memref.store %n, %x[%n] : memref<8xindex>
    gpu.return
  }
}

// -----

// Half a wave of 64 lanes.

gpu.module @m {
  gpu.func @half(%x: f32) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    // expected-error: gpu.subgroup_reduce needs blocks of whole warps of 64 threads, and they have 32 threads
    %r = gpu.subgroup_reduce add %x : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wide(%x: f64) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
    // expected-error: a shuffle of f64
    %r = gpu.subgroup_reduce add %x : (f64) -> f64
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @tensor_cores(%x: f32) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
    // expected-error: gpu.to_tf32 has no code for GPUs of AMD
    %h = gpu.to_tf32 %x : f32
    gpu.return
  }
}

// -----

builtin.module attributes {sched.target = #target.spec<"rocm", {}>} {
  gpu.module @m {
    gpu.func @matrices(%i: index) workgroup(%x: memref<8x8xf32, #gpu.address_space<workgroup>>) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
      // expected-error: gpu.ldmatrix has no code for GPUs of AMD
      %a = gpu.ldmatrix %x[%i, %i] : memref<8x8xf32, #gpu.address_space<workgroup>> -> f32
      gpu.return
    }
  }
}
