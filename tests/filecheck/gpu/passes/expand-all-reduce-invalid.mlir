// RUN: stepwell-opt %s -p expand-all-reduce --split-input-file --verify-diagnostics

gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    // expected-error: gpu.all_reduce needs the size of the block
    %r = gpu.all_reduce add %a {} : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @k(%a: f32) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    // expected-error: xor of f32
    %r = gpu.all_reduce xor %a {} : (f32) -> f32
    gpu.return
  }
}
