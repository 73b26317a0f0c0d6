// RUN: stepwell-opt %s -p expand-all-reduce,insert-gpu-barriers --split-input-file | filecheck %s

// Two warps: five exchanges in each, their totals in memory, one more exchange.
// CHECK-LABEL: gpu.func @warps
// CHECK-SAME: workgroup(%parts: memref<2xf32, #gpu.address_space<workgroup>>)
// CHECK: %[[T:.*]] = gpu.thread_id x
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %parts
// CHECK: gpu.barrier
// CHECK: memref.load %parts
// CHECK: gpu.shuffle xor
// CHECK: %[[R:.*]] = arith.addf
// CHECK: memref.store %[[R]], %x[%[[T]]]
gpu.module @m attributes {sched.target = #target.spec<"cuda", {}>} {
  gpu.func @warps(%x: memref<64xf32>) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<64xf32>
    %r = gpu.all_reduce add %a {} : (f32) -> f32
    memref.store %r, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// Six threads of a target without shuffles: three, two and one of them join values in memory.
// CHECK-LABEL: gpu.func @halves
// CHECK-SAME: workgroup(%parts: memref<6xf32, #gpu.address_space<workgroup>>)
// CHECK-NOT: gpu.shuffle
// CHECK: memref.store %{{.*}}, %parts
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: arith.maximumf
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: arith.maximumf
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: arith.maximumf
// CHECK: gpu.barrier
// CHECK: memref.load %parts
// CHECK-NOT: gpu.barrier
gpu.module @m attributes {sched.target = #target.spec<"webgpu", {}>} {
  gpu.func @halves(%x: memref<3x2xf32>) kernel attributes {gpu.known_block_size = array<i32: 2, 3, 1>} {
    %t = gpu.thread_id x
    %u = gpu.thread_id y
    %a = memref.load %x[%u, %t] : memref<3x2xf32>
    %r = gpu.all_reduce maximumf %a {} : (f32) -> f32
    memref.store %r, %x[%u, %t] : memref<3x2xf32>
    gpu.return
  }
}

// -----

// A block of one thread has no others.
// CHECK-LABEL: gpu.func @alone
// CHECK-NOT: workgroup
// CHECK: memref.store %a, %x
gpu.module @m {
  gpu.func @alone(%x: memref<1xf32>) kernel attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<1xf32>
    %r = gpu.all_reduce add %a {} : (f32) -> f32
    memref.store %r, %x[%t] : memref<1xf32>
    gpu.return
  }
}
