// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=cuda}' | filecheck %s
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target="nvidia/a10"}' | filecheck %s --check-prefix=PLAIN
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=webgpu}' | filecheck %s --check-prefix=SMALL
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target="webgpu{features=subgroups}"}' | filecheck %s --check-prefix=SUB
// RUN: stepwell-opt %s -p choose-gpu-schedules | filecheck %s --check-prefix=NONE

// NONE-NOT: sched.schedule
// CHECK-LABEL: @large
// CHECK: <tile = [128, 64, 16], bind = "block">, <tile = [32, 32, 0], bind = "warp">], stage = [0, 1], stages = 4, copy_bytes = 16, intrinsic = "m16n8k8.tf32", split = 3>
// PLAIN-LABEL: @large
// PLAIN: <tile = [128, 128, 8], bind = "block">, <tile = [8, 8, 0], bind = "thread">], stage = [0, 1], stages = 4, copy_bytes = 16>
// SMALL-LABEL: @large
// SMALL: <tile = [64, 128, 8], bind = "block">, <tile = [4, 8, 0], bind = "thread">], stage = [0, 1], stages = 2>
func.func @large(%x: memref<2048x1024xf32>, %y: memref<1024x2048xf32>, %z: memref<2048x2048xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<2048x1024xf32>, memref<1024x2048xf32>) outs(%z : memref<2048x2048xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// CHECK-LABEL: @row
// CHECK: <tile = [0, 64], bind = "block">, <tile = [0, 32], bind = "warp">], intrinsic = "shuffle">
// SUB-LABEL: @row
// SUB: <tile = [0, 64], bind = "block">, <tile = [0, 32], bind = "warp">], intrinsic = "subgroup">
// SMALL-LABEL: @row
// SMALL: <tile = [0, 64], bind = "block">, <tile = [0, 1], bind = "thread">
func.func @row(%x: memref<3x100xf32>, %t: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x100xf32>) outs(%t : memref<3xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.addf %sum, %a : f32
    linalg.yield %c : f32
  }
  func.return
}

// A convolution: positions are the columns (the output's last dimension is theirs), sums are over windows.
// CHECK-LABEL: @convolution
// CHECK: <tile = [0, 8, 0, 8, 0, 0, 8], bind = "block">, <tile = [0, 1, 0, 1, 0, 0, 0], bind = "thread">
func.func @convolution(%x: memref<1x3x34x34xf32>, %w: memref<8x3x3x3xf32>, %z: memref<1x8x32x32xf32>) {
  linalg.generic {indexing_maps = [
      affine_map<(n, o, h, w, c, p, q) -> (n, c, h + p, w + q)>, affine_map<(n, o, h, w, c, p, q) -> (o, c, p, q)>,
      affine_map<(n, o, h, w, c, p, q) -> (n, o, h, w)>], iterator_types = ["parallel", "parallel", "parallel",
      "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x3x34x34xf32>, memref<8x3x3x3xf32>) outs(%z : memref<1x8x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// The operand is dense along rows of the output: squares of 32, of which 256 threads have 8 rows at a time.
// CHECK-LABEL: @transpose
// CHECK: <tile = [0, 32, 32], bind = "block">, <tile = [0, 4, 1], bind = "thread">], stage = [0]>
// SMALL-LABEL: @transpose
// SMALL: <tile = [0, 32, 32], bind = "block">, <tile = [0, 4, 1], bind = "thread">], stage = [0]>
func.func @transpose(%x: memref<2x64x100xf32>, %z: memref<2x100x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, j, i)>, affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<2x64x100xf32>) outs(%z : memref<2x100x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// Few columns, an array that is read both ways, and numbers of bits: a thread an element.
// CHECK-LABEL: @others
// CHECK-NOT: stage
func.func @others(%x: memref<16x100xf32>, %z: memref<100x16xf32>, %s: memref<64x64xf32>, %t: memref<64x64xf32>,
    %p: memref<64x64xi1>, %q: memref<64x64xi1>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<16x100xf32>) outs(%z : memref<100x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s, %s : memref<64x64xf32>, memref<64x64xf32>) outs(%t : memref<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %a, %b : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%p : memref<64x64xi1>) outs(%q : memref<64x64xi1>) {
  ^bb0(%a: i1, %b: i1):
    linalg.yield %a : i1
  }
  func.return
}

// 16 bytes a thread, of the widest elements: 4 of f32, 8 of f16, also where a size is not known. Few elements, and
// arrays of which the loops cross the order, have a thread each.
// CHECK-LABEL: @neighbours
// CHECK: <tile = [0, 1024], bind = "block">, <tile = [0, 4], bind = "thread">], vectorize = 1>
// CHECK: <tile = [0, 1024], bind = "block">, <tile = [0, 4], bind = "thread">], vectorize = 1>
// CHECK: <tile = [0, 2048], bind = "block">, <tile = [0, 8], bind = "thread">], vectorize = 1>
// CHECK: <tile = [256], bind = "block">, <tile = [1], bind = "thread">]>
// SMALL-LABEL: @neighbours
// SMALL: <tile = [0, 1024], bind = "block">, <tile = [0, 4], bind = "thread">], vectorize = 1>
func.func @neighbours(%x: memref<64x300xf32>, %h: memref<64x300xf16>, %o: memref<?x7xf16>, %p: memref<?x7xf16>,
    %s: memref<1000xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%x : memref<64x300xf32>) {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x300xf32>) outs(%h : memref<64x300xf16>) {
  ^bb0(%a: f32, %old: f16):
    %b = arith.truncf %a : f32 to f16
    linalg.yield %b : f16
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%o : memref<?x7xf16>) outs(%p : memref<?x7xf16>) {
  ^bb0(%a: f16, %old: f16):
    linalg.yield %a : f16
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%s : memref<1000xf32>) {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  func.return
}

// Windows of neighbouring outputs overlap: a thread has four of them, three of rows of six. Where the filter
// differs along rows, and where their length is not known, each has a thread.
// CHECK-LABEL: @depthwise
// CHECK: <tile = [0, 0, 0, 1024, 0, 0], bind = "block">, <tile = [0, 0, 0, 4, 0, 0], bind = "thread">]>
// CHECK: <tile = [0, 96, 0], bind = "block">, <tile = [0, 3, 0], bind = "thread">]>
// CHECK-NOT: sched.schedule
// CHECK: func.return
func.func @depthwise(%x: memref<?x32x58x58xf32>, %w: memref<32x3x3xf32>, %z: memref<?x32x56x56xf32>,
    %p: memref<4x8xf32>, %q: memref<4x3xf32>, %r: memref<4x6xf32>, %s: memref<6x3xf32>, %t: memref<4x?xf32>,
    %u: memref<4x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(n, c, h, w, p, q) -> (n, c, h + p, w + q)>,
      affine_map<(n, c, h, w, p, q) -> (c, p, q)>, affine_map<(n, c, h, w, p, q) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<?x32x58x58xf32>, memref<32x3x3xf32>) outs(%z : memref<?x32x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(c, w, q) -> (c, w + q)>, affine_map<(c, w, q) -> (c, q)>,
      affine_map<(c, w, q) -> (c, w)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %q : memref<4x8xf32>, memref<4x3xf32>) outs(%r : memref<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(c, w, q) -> (c, w + q)>, affine_map<(c, w, q) -> (w, q)>,
      affine_map<(c, w, q) -> (c, w)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %s : memref<4x8xf32>, memref<6x3xf32>) outs(%r : memref<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [affine_map<(c, w, q) -> (c, w + q)>, affine_map<(c, w, q) -> (c, q)>,
      affine_map<(c, w, q) -> (c, w)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t, %q : memref<4x?xf32>, memref<4x3xf32>) outs(%u : memref<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// In TF32 a product is one of tensor cores, also where f32 has none by three.
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target=cuda precision=tf32}' | filecheck %s --check-prefix=TF32
// RUN: stepwell-opt %s -p 'choose-gpu-schedules{target="nvidia/a10" precision=tf32}' | filecheck %s --check-prefix=LESS
// TF32-LABEL: @large
// TF32: stages = 4, copy_bytes = 16, intrinsic = "m16n8k8.tf32">
// LESS-LABEL: @large
// LESS: stages = 3, copy_bytes = 16, intrinsic = "m16n8k8.tf32">
