// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=cuda}' | filecheck %s --check-prefix=CUDA
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target="nvidia/a10"}' | filecheck %s --check-prefix=PLAIN
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=webgpu}' | filecheck %s --check-prefix=SMALL
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=cuda},tile-to-grid' | filecheck %s --check-prefix=GRID
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=webgpu},tile-to-grid' | filecheck %s --check-prefix=PARTS
// RUN: stepwell-opt %s -p count-operations | filecheck %s --check-prefix=WORK
// RUN: not stepwell-opt %s -p 'choose-gpu-schedules{target="webgpu{shared-memory=1KiB}"}' 2>&1 | filecheck %s --check-prefix=NONE

// NONE: error[exceeds-target]: no tile of attention of 64 and 64 elements fits the target

// Queries, keys, values and powers in memory of the block; maxima by shuffles, or in memory too.
// CUDA-LABEL: @attention
// CUDA: <tile = [0, 64, 0, 32], bind = "block">, <tile = [0, 16, 0, 32], bind = "warp">], stage = [0, 1, 2], intrinsic = "m16n8k8.tf32", split = 3>
// PLAIN-LABEL: @attention
// PLAIN: <tile = [0, 64, 0, 32], bind = "block">, <tile = [0, 16, 0, 32], bind = "warp">], stage = [0, 1, 2], intrinsic = "shuffle">
// SMALL-LABEL: @attention
// SMALL: <tile = [0, 16, 0, 16], bind = "block">, <tile = [0, 2, 0, 2], bind = "thread">], stage = [0, 1, 2]>
// GRID-LABEL: @attention
// GRID-NOT: linalg_ext
// GRID: %q_tile = memref.alloc() : memref<64x68xf32, #gpu.address_space<workgroup>>
// GRID: %k_tile = memref.alloc() : memref<32x68xf32, #gpu.address_space<workgroup>>
// GRID: %v_tile = memref.alloc() : memref<32x72xf32, #gpu.address_space<workgroup>>
// GRID: %powers = memref.alloc() : memref<64x36xf32, #gpu.address_space<workgroup>>
// GRID: scf.for
// GRID: gpu.mma_sync
// GRID: gpu.shuffle xor
// GRID: math.exp
// GRID: gpu.mma_sync
// GRID: arith.divf
// PARTS-LABEL: @attention
// PARTS: %parts = memref.alloc() : memref<16x8xf32, #gpu.address_space<workgroup>>
// PARTS-NOT: gpu.shuffle
// 8 x 100 x 100 scores, each of 2 x 128 operations for both products and 3 for the softmax.
// WORK-LABEL: @attention
// WORK: %[[N:.*]] = arith.constant 20720000 : index
// WORK: "gpu.work"(%[[N]])
func.func @attention(%q: memref<8x100x64xf32>, %y: memref<8x100x64xf32>) {
  linalg_ext.grid_attention %q, %q, %q into %y scale 0.125 : (memref<8x100x64xf32>, memref<8x100x64xf32>, memref<8x100x64xf32>, memref<8x100x64xf32>) -> ()
  func.return
}

// Rows by blocks: exchanges in warps, or halves in memory of the block.
// CUDA-LABEL: @rows
// CUDA: <tile = [0, 256], bind = "block">, <tile = [0, 32], bind = "warp">], intrinsic = "shuffle">
// SMALL-LABEL: @rows
// SMALL: <tile = [0, 256], bind = "block">, <tile = [0, 1], bind = "thread">]>
// GRID-LABEL: @rows
// GRID: %totals = memref.alloc() : memref<8xf32, #gpu.address_space<workgroup>>
// GRID: gpu.shuffle up
// PARTS-LABEL: @rows
// PARTS: %scanned = memref.alloc() : memref<256xf32, #gpu.address_space<workgroup>>
// PARTS-NOT: gpu.shuffle
// WORK-LABEL: @rows
// WORK: memref.dim %x
func.func @rows(%x: memref<?x1000xf32>, %y: memref<?x1000xf32>) {
  linalg_ext.grid_scan %x into %y kind "sum" axis 1 exclusive false reverse false : (memref<?x1000xf32>, memref<?x1000xf32>) -> ()
  func.return
}

// Elements of 64 bits are not exchanged in warps.
// CUDA-LABEL: @long_elements
// CUDA: <tile = [256], bind = "block">, <tile = [1], bind = "thread">]>
func.func @long_elements(%x: memref<1000xi64>, %y: memref<1000xi64>) {
  linalg_ext.grid_scan %x into %y kind "sum" axis 0 exclusive false reverse false : (memref<1000xi64>, memref<1000xi64>) -> ()
  func.return
}

// Columns by threads, where they are neighbours and many.
// CUDA-LABEL: @columns
// CUDA: <tile = [0, 0, 128], bind = "block">, <tile = [0, 0, 1], bind = "thread">]>
// GRID-LABEL: @columns
// GRID-NOT: memref.alloc
// GRID: scf.for
func.func @columns(%x: memref<2x50x64xf32>, %y: memref<2x50x64xf32>) {
  linalg_ext.grid_scan %x into %y kind "sum" axis 1 exclusive false reverse false : (memref<2x50x64xf32>, memref<2x50x64xf32>) -> ()
  func.return
}

// CUDA-LABEL: @few_columns
// CUDA: <tile = [256, 0], bind = "block">
func.func @few_columns(%x: memref<500x4xf32>, %y: memref<500x4xf32>) {
  linalg_ext.grid_scan %x into %y kind "sum" axis 0 exclusive false reverse false : (memref<500x4xf32>, memref<500x4xf32>) -> ()
  func.return
}
