// RUN: stepwell-opt %s -p convert-gpu-to-rocdl | filecheck %s
// RUN: stepwell-opt %s -p convert-gpu-to-rocdl,convert-loops-to-llvm,place-stack-in-private | filecheck %s --check-prefix=LLVM

// A barrier orders nothing by itself: there are fences around it. Memory of the block is as for NVIDIA.

// CHECK: llvm.mlir.global internal @reverse_s_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x f32>
// CHECK: func.func @reverse(%x: memref<256xf32> {graph.dims = #graph.dims<[256]>}) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>}
// CHECK: %[[T:.*]] = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() : () -> i32
// CHECK: %t = arith.index_cast %[[T]] : i32 to index
// CHECK: llvm.fence "workgroup" "release"
// CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.s.barrier"() : () -> ()
// CHECK-NEXT: llvm.fence "workgroup" "acquire"

// LLVM: llvm.func @reverse(%x: !llvm.ptr) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>}

// The numbers of blocks are the first arguments that the driver adds; the threads of a block are known.

// CHECK: func.func @sizes
// CHECK: llvm.call_intrinsic "llvm.amdgcn.workgroup.id.y"
// CHECK: %[[HIDDEN:.*]] = llvm.call_intrinsic "llvm.amdgcn.implicitarg.ptr"() : () -> !llvm.ptr<4>
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %[[HIDDEN]][2]
// CHECK: llvm.load %[[AT]] : !llvm.ptr<4> -> i32
// CHECK: arith.constant 7 : index

// Waves of data centers' GPUs have 64 lanes, so that a sum has six steps; others 32, and five.

// CHECK: func.func @wide
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mbcnt.lo"
// CHECK: llvm.call_intrinsic "llvm.amdgcn.mbcnt.hi"
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
// CHECK-NOT: bpermute
// CHECK: func.func @narrow
// CHECK-NOT: mbcnt.hi
// CHECK-COUNT-5: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
// CHECK-NOT: bpermute

// A shuffle stays in the lane's own segment of `width`; `up` may not pass its first lane.

// CHECK: func.func @up
// CHECK: %[[MINUS:.*]] = arith.subi %{{.*}}, %w : i32
// CHECK: %[[FIRST:.*]] = arith.andi %[[LANE:.*]], %[[MINUS]] : i32
// CHECK: %[[OTHER:.*]] = arith.subi %[[LANE]], %o : i32
// CHECK: %[[OK:.*]] = arith.cmpi sge, %[[OTHER]], %[[FIRST]] : i32
// CHECK: arith.select %[[OK]], %[[OTHER]], %[[LANE]] : i32

// An array of a thread is in address space 5.

// LLVM: llvm.func @private
// LLVM: %[[P:.*]] = llvm.alloca %{{.*}} x !llvm.array<8 x f32> {{.*}} -> !llvm.ptr<5>
// LLVM-NEXT: llvm.addrspacecast %[[P]] : !llvm.ptr<5> to !llvm.ptr
gpu.module @kernels attributes {sched.target = #target.spec<"rocm", {}>} {
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
  gpu.func @sizes(%x: memref<?x?xf32>, %v: f32) kernel attributes {gpu.known_block_size = array<i32: 1, 7, 1>} {
    %b = gpu.block_id y
    %g = gpu.grid_dim z
    %n = gpu.block_dim y
    %i = arith.addi %g, %n : index
    memref.store %v, %x[%b, %i] : memref<?x?xf32>
    gpu.return
  }
  gpu.func @wide(%x: memref<64xf32>) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %r = gpu.subgroup_reduce add %v : (f32) -> f32
    memref.store %r, %x[%t] : memref<64xf32>
    gpu.return
  }
}
gpu.module @others attributes {sched.target = #target.spec<"rocm", {arch = "gfx1100"}>} {
  gpu.func @narrow(%x: memref<64xi32>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r = gpu.subgroup_reduce maxsi %v : (i32) -> i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
  gpu.func @up(%x: memref<64xi32>, %o: i32, %w: i32) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r, %ok = gpu.shuffle up %v, %o, %w : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
  gpu.func @private(%x: memref<8xf32>, %i: index) kernel attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
    %a = memref.alloc() : memref<8xf32>
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>
    %r = memref.load %a[%i] : memref<8xf32>
    memref.store %r, %x[%i] : memref<8xf32>
    gpu.return
  }
}
