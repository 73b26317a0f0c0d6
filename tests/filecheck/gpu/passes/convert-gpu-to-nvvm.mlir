// RUN: stepwell-opt %s -p convert-gpu-to-nvvm | filecheck %s
// RUN: stepwell-opt %s -p convert-gpu-to-nvvm,convert-loops-to-llvm | filecheck %s --check-prefix=LLVM

// Memory of the block is a global of address space 3; what the host does is left out.

// CHECK: llvm.mlir.global internal @reverse_s_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>
// CHECK: func.func @reverse(%x: memref<256xf32> {graph.dims = #graph.dims<[256]>}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>}
// CHECK: %[[P:.*]] = llvm.mlir.addressof @reverse_s_0 : !llvm.ptr<3>
// CHECK: %[[G:.*]] = llvm.addrspacecast %[[P]] : !llvm.ptr<3> to !llvm.ptr
// CHECK: %s = builtin.unrealized_conversion_cast %[[G]] : !llvm.ptr to memref<256xf32, #gpu.address_space<workgroup>>
// CHECK: %[[T:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
// CHECK: %t = arith.index_cast %[[T]] : i32 to index
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%{{.*}}) : (i32) -> ()
// CHECK: func.return
// CHECK-NOT: gpu.
// CHECK-NOT: @main

// LLVM: llvm.func @reverse(%x: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>}
// LLVM: %s = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr
// LLVM: llvm.getelementptr inbounds %s[%{{.*}}]

// An inner size that is not known is an argument, and so is an outer one that the kernel asks for.

// CHECK: func.func @sizes(%x: memref<?x?xf32> {graph.dims = #graph.dims<["n0d0", "n0d1"]>}, %n: index, %n0d1: index {graph.size = "n0d1"}) attributes {nvvm.kernel}
// CHECK: func.func @asked(%x: memref<?xf32> {graph.dims = #graph.dims<["n0d0"]>}, %n0d0: index {graph.size = "n0d0"})
// LLVM: llvm.func @sizes(%{{.*}}: !llvm.ptr, %n: i64, %n0d1: i64)
// LLVM: llvm.mul %{{.*}}, %n0d1 : i64

// A sum of a warp is made of shuffles by 16, 8, 4, 2 and 1; the last lane and the width are one number.

// CHECK: func.func @warp
// CHECK-COUNT-5: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.f32p"
// CHECK-NOT: shfl
// CHECK: llvm.call_intrinsic "llvm.nvvm.f2tf32.rna"(%{{.*}}) : (f32) -> i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"

// A copy is converted with the addresses; bytes that do not exist become 0.

// CHECK: func.func @async
// CHECK: gpu.async_copy
// CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.commit.group"() : () -> ()
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%[[ONE]]) : (i32) -> ()
// LLVM: llvm.func @async
// LLVM: %[[TO:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<3>
// LLVM: %[[FROM:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<1>
// LLVM: llvm.call_intrinsic "llvm.nvvm.cp.async.ca.shared.global.4"(%[[TO]], %[[FROM]])
// LLVM: %[[BYTES:.*]] = llvm.select %ok, %{{.*}}, %{{.*}} : i1, i32
// LLVM: llvm.call_intrinsic "llvm.nvvm.cp.async.ca.shared.global.4.s"(%{{.*}}, %{{.*}}, %[[BYTES]])
builtin.module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @reverse(%x: memref<256xf32>) workgroup(%s: memref<256xf32, #gpu.address_space<workgroup>>) kernel
        attributes {gpu.known_block_size = array<i32: 256, 1, 1>} {
      %t = gpu.thread_id x
      %a = memref.load %x[%t] : memref<256xf32>
      memref.store %a, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %last = arith.constant 255 : index
      %r = arith.subi %last, %t : index
      %b = memref.load %s[%r] : memref<256xf32, #gpu.address_space<workgroup>>
      memref.store %b, %x[%t] : memref<256xf32>
      gpu.return
    }
    gpu.func @sizes(%x: memref<?x?xf32>, %n: index) kernel {
      %b = gpu.block_id y
      %v = memref.load %x[%b, %n] : memref<?x?xf32>
      memref.store %v, %x[%n, %b] : memref<?x?xf32>
      gpu.return
    }
    gpu.func @asked(%x: memref<?xf32>) kernel {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %c1 = arith.constant 1 : index
      %last = arith.subi %n, %c1 : index
      %v = memref.load %x[%c0] : memref<?xf32>
      memref.store %v, %x[%last] : memref<?xf32>
      gpu.return
    }
    gpu.func @warp(%x: memref<64xf32>) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<64xf32>
      %r = gpu.subgroup_reduce add %v : (f32) -> f32
      %h = gpu.to_tf32 %v : f32
      %d0, %d1, %d2, %d3 = gpu.mma_sync "m16n8k8.tf32" a(%h, %h, %h, %h) b(%h, %h) c(%r, %r, %r, %r) : f32, f32, f32, f32
      memref.store %d3, %x[%t] : memref<64xf32>
      memref.store %r, %x[%t] : memref<64xf32>
      gpu.return
    }
    gpu.func @async(%x: memref<64xf32>, %ok: i1) workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %t = gpu.thread_id x
      gpu.async_copy %x[%t] to %s[%t] : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      gpu.async_copy %x[%t] to %s[%t] if %ok : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
      gpu.async_commit
      gpu.async_wait 1
      gpu.return
    }
  }
  func.func @main(%x: memref<256xf32>) {
    %one = arith.constant 1 : index
    %threads = arith.constant 256 : index
    gpu.launch_func @kernels::@reverse blocks in (%one, %one, %one) threads in (%threads, %one, %one)
        args(%x : memref<256xf32>)
    func.return
  }
}

// What a launch passes is memory of another module, without a size; two ops are the same.

// CHECK: llvm.mlir.global external @passed_dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// CHECK: func.func @passed
// CHECK-COUNT-2: llvm.mlir.addressof @passed_dynamic : !llvm.ptr<3>
// CHECK: memref.view %{{.*}}[%c16][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
gpu.module @dynamic {
  gpu.func @passed(%x: memref<8xf32>, %i: index) kernel {
    %c16 = arith.constant 16 : index
    %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %n = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %v = memref.view %n[%c16][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
    %a = memref.load %v[%i] : memref<8xf32, #gpu.address_space<workgroup>>
    memref.store %a, %x[%i] : memref<8xf32>
    gpu.return
  }
}
