// RUN: stepwell-opt %s -p tile-to-grid --split-input-file --verify-diagnostics

func.func @order_matters(%x: memref<3x40xf32>, %t: memref<3xf32>) {
  // expected-error: a schedule of blocks and threads for this reduction
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">]>} {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.subf %a, %sum : f32
    linalg.yield %c : f32
  }
  func.return
}

// -----

func.func @once_for_a_row(%x: memref<3x40xf32>, %t: memref<3xf32>) {
  // expected-error: a schedule of blocks and threads for an op that does not write each element once
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @three_stages(%x: memref<3x40xf32>, %t: memref<3x40xf32>) {
  // expected-error: stages = 3 in a schedule of blocks and threads is not carried out
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3x40xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">], stage = [0], stages = 3>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @tensor_cores(%x: memref<3x40xf32>, %t: memref<3x40xf32>) {
  // expected-error: intrinsic = "mma" in a schedule of blocks and threads is not carried out
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3x40xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "warp">], intrinsic = "mma">} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @split_sums(%x: memref<3x40xf32>, %t: memref<3x40xf32>) {
  // expected-error: split = 2 in a schedule of blocks and threads is not carried out
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x40xf32>) outs(%t : memref<3x40xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">], split = 2>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @small_fragments(%x: memref<16x9xf32>, %y: memref<9x16xf32>, %z: memref<16x16xf32>) {
  // expected-error: tiles of warps of 8 x 8 elements, and of blocks of 8 sums, for m16n8k8.tf32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<16x9xf32>, memref<9x16xf32>) outs(%z : memref<16x16xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [16, 16, 8], bind = "block">,
        <tile = [8, 8, 0], bind = "warp">], stage = [0, 1], intrinsic = "m16n8k8.tf32", split = 3>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

func.func @sums_of_integers(%x: memref<16x9xi32>, %y: memref<9x16xi32>, %z: memref<16x16xi32>) {
  // expected-error: intrinsic = "m16n8k8.tf32" for an op that is no product of f32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<16x9xi32>, memref<9x16xi32>) outs(%z : memref<16x16xi32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [16, 16, 8], bind = "block">,
        <tile = [16, 8, 0], bind = "warp">], stage = [0, 1], intrinsic = "m16n8k8.tf32", split = 3>} {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %c = arith.muli %a, %b : i32
    %d = arith.addi %sum, %c : i32
    linalg.yield %d : i32
  }
  func.return
}

// -----

func.func @two_products(%x: memref<16x9xf32>, %y: memref<9x16xf32>, %z: memref<16x16xf32>) {
  // expected-error: split = 2 of m16n8k8.tf32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<16x9xf32>, memref<9x16xf32>) outs(%z : memref<16x16xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [16, 16, 8], bind = "block">,
        <tile = [16, 8, 0], bind = "warp">], stage = [0, 1], intrinsic = "m16n8k8.tf32", split = 2>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

func.func @largest_product(%x: memref<5x9xf32>, %y: memref<9x6xf32>, %z: memref<5x6xf32>) {
  // expected-error: split_k = 2 for an op that does not add up numbers of f32
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<5x9xf32>, memref<9x6xf32>) outs(%z : memref<5x6xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [4, 8, 8], bind = "block">,
        <tile = [1, 1, 0], bind = "thread">], stage = [0, 1], split_k = 2>} {
  ^bb0(%a: f32, %b: f32, %most: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.maximumf %most, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

func.func @no_sums(%x: memref<64xf32>) {
  // expected-error: split_k = 2 in a schedule of blocks and threads is not carried out
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : memref<64xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [32], bind = "block">,
        <tile = [1], bind = "thread">], split_k = 2>} {
  ^bb0(%a: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  }
  func.return
}

// -----

func.func @nothing_to_transpose(%x: memref<64x64xf32>, %z: memref<64x64xf32>) {
  // expected-error: stage = [0] of an elementwise op with tiles of [32, 32]
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%z : memref<64x64xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [32, 32], bind = "block">,
        <tile = [4, 1], bind = "thread">], stage = [0]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @no_square(%x: memref<64x64xf32>, %z: memref<64x64xf32>) {
  // expected-error: stage = [0] of an elementwise op with tiles of [32, 64]
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x64xf32>) outs(%z : memref<64x64xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [32, 64], bind = "block">,
        <tile = [4, 1], bind = "thread">], stage = [0]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @wide_vectors(%x: memref<64xf32>) {
  // expected-error: vectorize = 0 with 8 elements a thread of an elementwise op
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : memref<64xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [32], bind = "block">,
        <tile = [8], bind = "thread">], vectorize = 0>} {
  ^bb0(%a: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  }
  func.return
}

// -----

func.func @attention_by_other_lanes(%x: memref<16x8xf32>, %y: memref<16x8xf32>) {
  // expected-error: a schedule of blocks and threads for attention: #sched.schedule<levels = [<tile = [16, 0, 16], bind = "block">, <tile = [2, 0, 4], bind = "thread">], stage = [0, 1, 2]>
  linalg_ext.grid_attention %x, %x, %x into %y scale 1.0 {sched.schedule = #sched.schedule<
      levels = [<tile = [16, 0, 16], bind = "block">, <tile = [2, 0, 4], bind = "thread">], stage = [0, 1, 2]>}
      : (memref<16x8xf32>, memref<16x8xf32>, memref<16x8xf32>, memref<16x8xf32>) -> ()
  func.return
}

// -----

func.func @vectors_across(%x: memref<8x16xf32>, %z: memref<16x8xf32>) {
  // expected-error: vectorize = 1 with 4 elements a thread of an elementwise op
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x16xf32>) outs(%z : memref<16x8xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 4], bind = "thread">], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func @scan_along_two_loops(%x: memref<16x8xf32>, %y: memref<16x8xf32>) {
  // expected-error: a schedule of blocks and threads for a scan: #sched.schedule<levels = [<tile = [8, 8], bind = "block">, <tile = [1, 1], bind = "thread">]>
  linalg_ext.grid_scan %x into %y kind "sum" axis 1 exclusive false reverse false {sched.schedule = #sched.schedule<
      levels = [<tile = [8, 8], bind = "block">, <tile = [1, 1], bind = "thread">]>}
      : (memref<16x8xf32>, memref<16x8xf32>) -> ()
  func.return
}

// -----

func.func @vectors_of_rows(%x: memref<3x64xf32>, %t: memref<3xf32>) {
  // expected-error: vectorize = 1 in a schedule of blocks and threads is not carried out
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x64xf32>) outs(%t : memref<3xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32], bind = "block">,
        <tile = [0, 1], bind = "thread">], vectorize = 1>} {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.addf %sum, %a : f32
    linalg.yield %c : f32
  }
  func.return
}

// -----

func.func @windows_by_vectors(%x: memref<2x18xf32>, %w: memref<2x3xf32>, %z: memref<2x16xf32>) {
  // expected-error: vectorize = 1 in a schedule of blocks and threads is not carried out
  linalg.generic {indexing_maps = [affine_map<(c, w, q) -> (c, w + q)>, affine_map<(c, w, q) -> (c, q)>,
      affine_map<(c, w, q) -> (c, w)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<2x18xf32>, memref<2x3xf32>) outs(%z : memref<2x16xf32>)
      attrs = {sched.schedule = #sched.schedule<levels = [<tile = [0, 32, 0], bind = "block">,
        <tile = [0, 4, 0], bind = "thread">], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %sum, %c : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

func.func @exchange_of_long_elements(%x: memref<64xi64>, %y: memref<64xi64>) {
  // expected-error: an exchange of i64 between threads
  linalg_ext.grid_scan %x into %y kind "sum" axis 0 exclusive false reverse false {sched.schedule = #sched.schedule<
      levels = [<tile = [64], bind = "block">, <tile = [32], bind = "warp">], intrinsic = "shuffle">}
      : (memref<64xi64>, memref<64xi64>) -> ()
  func.return
}
