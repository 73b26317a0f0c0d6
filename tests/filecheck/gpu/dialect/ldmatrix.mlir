// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p convert-gpu-to-nvvm,convert-loops-to-llvm | filecheck %s --check-prefix=NVVM

// CHECK: %a, %b, %c, %d = gpu.ldmatrix %s[%t, %t] : memref<16x20xf32, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
// CHECK: %e = gpu.ldmatrix %s[%t, %t] : memref<16x20xf32, #gpu.address_space<workgroup>> -> f32
// NVVM: %[[P:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<3>
// NVVM: %[[M:.*]] = llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"(%[[P]]) : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
// NVVM: %[[A:.*]] = llvm.extractvalue %[[M]][0]
// NVVM: llvm.extractvalue %[[M]][3]
// NVVM: llvm.bitcast %[[A]] : i32 to f32
// NVVM: llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3"(%{{.*}}) : (!llvm.ptr<3>) -> i32
gpu.module @m {
  gpu.func @k(%x: memref<32xf32>) workgroup(%s: memref<16x20xf32, #gpu.address_space<workgroup>>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %a, %b, %c, %d = gpu.ldmatrix %s[%t, %t] : memref<16x20xf32, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
    %e = gpu.ldmatrix %s[%t, %t] : memref<16x20xf32, #gpu.address_space<workgroup>> -> f32
    %f = arith.addf %a, %d : f32
    %g = arith.addf %e, %f : f32
    memref.store %g, %x[%t] : memref<32xf32>
    gpu.return
  }
}
