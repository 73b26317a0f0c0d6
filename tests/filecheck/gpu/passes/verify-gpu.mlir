// RUN: stepwell-opt %s -p 'verify-gpu{target=webgpu}' | filecheck %s

// 16 KiB are what every implementation of WebGPU has.

// CHECK: gpu.func @fits
gpu.module @m {
  gpu.func @fits(%x: memref<4xf32>) workgroup(%s: memref<64x64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
    gpu.return
  }
}

// Conditions, indices and what only starts a loop take no registers for sure: 4 are enough.

// CHECK: gpu.func @four
gpu.module @registers attributes {sched.target = #target.spec<"cuda", {registers = 4}>} {
  gpu.func @four(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %yes = arith.constant true
    %zero = arith.constant 0.0 : f32
    %wide = arith.constant 0.0 : f64
    %a, %b, %c, %w = scf.for %i = %c0 to %n step %c1 iter_args(%p = %zero, %q = %yes, %k = %c0, %d = %wide)
        -> (f32, i1, index, f64) {
      %s, %t = scf.for %j = %c0 to %n step %c1 iter_args(%r = %p, %u = %d) -> (f32, f64) {
        %e = arith.addf %r, %r : f32
        scf.yield %e, %u : f32, f64
      }
      scf.yield %s, %q, %k, %t : f32, i1, index, f64
    }
    gpu.return
  }
}

// A grid of more than 65,535 blocks along x is several dispatches; what the host computes is not known here.

// CHECK-LABEL: @main
func.func @main(%n: index) {
  %c1 = arith.constant 1 : index
  %c70000 = arith.constant 70000 : index
  %x = memref.alloc() : memref<4xf32>
  gpu.launch_func @m::@fits blocks in (%c70000, %n, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>)
  func.return
}

// Memory that the launch passes goes beyond what code may declare.

// CHECK: gpu.func @passed
gpu.module @dynamic attributes {sched.target = #target.spec<"cuda", {}>} {
  gpu.func @passed() kernel {
    %c0 = arith.constant 0 : index
    %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %v = memref.view %m[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<128x128xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
func.func @passes(%n: index) {
  %bytes = arith.constant 65536 : i32
  gpu.launch_func @dynamic::@passed blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %bytes
  func.return
}
