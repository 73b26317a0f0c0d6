// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p convert-gpu-to-nvvm

gpu.module @m {
  // expected-error: an argument is a view: memref<8xf32, strided<[2]>>
  gpu.func @view(%x: memref<8xf32, strided<[2]>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @part(%x: f32) kernel attributes {gpu.known_block_size = array<i32: 48, 1, 1>} {
    // expected-error: gpu.subgroup_reduce needs blocks of whole warps of 32 threads, and they have 48 threads
    %r = gpu.subgroup_reduce add %x : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @divergent(%x: f32, %n: index) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %few = arith.cmpi ult, %t, %n : index
    scf.if %few {
      // expected-error: gpu.subgroup_reduce in scf.if, whose condition or bounds depend on a thread id
      %r = gpu.subgroup_reduce add %x : (f32) -> f32
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wide(%x: f64) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    // expected-error: a shuffle of f64
    %r = gpu.subgroup_reduce add %x : (f64) -> f64
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @size(%n: index) kernel {
    // expected-error: memory of a thread has a size that is not known
    %x = memref.alloc(%n) : memref<?xf32>
    gpu.return
  }
}
