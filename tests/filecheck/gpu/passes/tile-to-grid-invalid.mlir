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
