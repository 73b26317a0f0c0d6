// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p 'verify-gpu{target=webgpu}'

gpu.module @m {
  // expected-error: @k needs more bytes of memory of a block: 65536, and webgpu has 16384
  gpu.func @k() workgroup(%s: memref<128x128xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

// WGSL has no bytes in memory of a block.
gpu.module @m {
  // expected-error: @k needs more bytes of memory of a block: 32768, and webgpu has 16384
  gpu.func @k() workgroup(%s: memref<8192xi8, #gpu.address_space<workgroup>>) kernel {
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

// -----

// The inner loop starts from what the outer one carries, and two values wait for it.
gpu.module @m attributes {sched.target = #target.spec<"cuda", {registers = 4}>} {
  // expected-error: @k carries more registers of a thread through its loops: 6, and cuda{registers=4} has 4
  gpu.func @k(%x: memref<4xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %wide = arith.constant 0.0 : f64
    %v = arith.constant dense<0.0> : vector<2xf32>
    %a, %b, %w = scf.for %i = %c0 to %n step %c1 iter_args(%p = %zero, %q = %zero, %d = %wide) -> (f32, f32, f64) {
      %s, %t = scf.for %j = %c0 to %n step %c1 iter_args(%r = %p, %u = %v) -> (f32, vector<2xf32>) {
        %e = arith.addf %r, %q : f32
        %f = arith.addf %u, %u : vector<2xf32>
        scf.yield %e, %f : f32, vector<2xf32>
      }
      %h = arith.extf %s : f32 to f64
      %g = arith.addf %d, %h : f64
      scf.yield %s, %s, %g : f32, f32, f64
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {sched.target = #target.spec<"cuda", {}>} {
  gpu.func @k() kernel {
    gpu.return
  }
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c70000 = arith.constant 70000 : index
  // expected-error: @m::@k is launched in more blocks along y: 70000, and cuda has 65535
  gpu.launch_func @m::@k blocks in (%c70000, %c70000, %c1) threads in (%c1, %c1, %c1)
  func.return
}

// -----

gpu.module @m {
  gpu.func @k() kernel {
    gpu.return
  }
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c70000 = arith.constant 70000 : index
  // expected-error: @m::@k is launched in more blocks along z: 70000, and webgpu has 65535
  gpu.launch_func @m::@k blocks in (%c1, %c1, %c70000) threads in (%c1, %c1, %c1)
  func.return
}

// -----

// Code may declare 48 KiB, whatever launches may pass.
gpu.module @m attributes {sched.target = #target.spec<"cuda", {}>} {
  // expected-error: @k declares more bytes of memory of a block: 65536, and cuda has 49152
  gpu.func @k() workgroup(%s: memref<128x128xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

// Both together are bounded by the target.
gpu.module @m attributes {sched.target = #target.spec<"cuda", {arch = "sm_86"}>} {
  // expected-error: @k needs more bytes of memory of a block: 106496, and cuda{arch=sm_86} has 101376
  gpu.func @k() workgroup(%s: memref<80x128xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %v = memref.view %m[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<128x128xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @m attributes {sched.target = #target.spec<"cuda", {arch = "sm_86"}>} {
  gpu.func @k() kernel {
    gpu.return
  }
}
func.func @main(%n: index) {
  %bytes = arith.constant 102400 : i32
  // expected-error: @m::@k is launched with more bytes of memory of a block: 102400, and cuda{arch=sm_86} has 101376
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %bytes
  func.return
}

// -----

gpu.module @m attributes {sched.target = #target.spec<"cuda", {}>} {
  gpu.func @k() kernel {
    %c16 = arith.constant 16 : index
    %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %v = memref.view %m[%c16][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<8xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
func.func @main(%n: index) {
  // expected-error: @m::@k accesses 48 bytes of dynamic memory of a block, and is passed 0
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
  func.return
}
