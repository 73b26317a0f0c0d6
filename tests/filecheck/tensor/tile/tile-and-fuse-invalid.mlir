// RUN: stepwell-opt %s -p tile-and-fuse --split-input-file --verify-diagnostics

func.func private @tiles_for_other_loops(%x: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error: the op has 2 loops, the schedule has 1 tiles
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) attrs = {sched.schedule = #sched.schedule<tile = [4], parallel = [0]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// -----

func.func private @parallel_reduction(%x: tensor<4x8xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: loop 1 is a reduction, its iterations are not independent
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 1], parallel = [1]>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

func.func private @no_slice(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error: a tiled loop moves an index of an operand other than by a stride
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i mod 4)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {sched.schedule = #sched.schedule<tile = [4], parallel = [0]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

func.func private @lanes_that_nothing_combines(%x: tensor<32xf32>, %e: tensor<f32>) -> tensor<f32> {
  // expected-error: nothing combines the lanes of loop 0, a reduction
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<32xf32>) outs(%e : tensor<f32>) attrs = {sched.schedule = #sched.schedule<tile = [16], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

func.func private @untiled_lanes_that_nothing_combines(%x: tensor<32xf32>, %e: tensor<f32>) -> tensor<f32> {
  // expected-error: nothing combines the lanes of loop 0, a reduction
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<32xf32>) outs(%e : tensor<f32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

func.func private @not_structured(%x: tensor<32xf32>) -> tensor<16xf32> {
  // expected-error: sched.schedule is an attribute of linalg.* and linalg_ext.*, found on tensor.extract_slice
  %r = tensor.extract_slice %x[0] [16] [1] {sched.schedule = #sched.schedule<tile = [16], parallel = [0]>} : tensor<32xf32> to tensor<16xf32>
  func.return %r : tensor<16xf32>
}

// -----

func.func private @on_buffers(%x: memref<8xf32>, %e: memref<8xf32>) {
  // expected-error: linalg.generic takes no schedule
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%e : memref<8xf32>) attrs = {sched.schedule = #sched.schedule<tile = [4], parallel = [0]>} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}

// -----

func.func private @lanes_that_are_too_many(%x: tensor<?x?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error: loop 1, a reduction, has at most 2048 lanes, found 2147483647
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 2147483647], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// -----

func.func private @unrolled_at_run_time(%x: tensor<?x?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error: loop 1 has an extent known at run time, it cannot be written out
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 4], unroll = [1]>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// -----

func.func private @unrolled_too_often(%x: tensor<8x8192xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error: loop 1 would be written out 2048 times, at most 1024
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x8192xf32>) outs(%e : tensor<8xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 4], unroll = [1]>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

func.func private @lanes_of_a_sum_outside(%x: tensor<16x8192xf32>, %e: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error: loop 1 has the lanes of a sum: no level is inside of it, none unrolled
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x8192xf32>) outs(%e : tensor<16xf32>) attrs = {sched.schedule = #sched.schedule<levels = [<tile = [8, 64]>, <tile = [4, 0]>], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  func.return %r : tensor<16xf32>
}

// -----

func.func private @an_inner_sum_in_parallel(%x: tensor<16x8192xf32>, %e: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error: loop 1 is a reduction, its iterations are not independent
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x8192xf32>) outs(%e : tensor<16xf32>) attrs = {sched.schedule = #sched.schedule<levels = [<tile = [8, 64]>, <tile = [0, 4], parallel = [1]>]>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  func.return %r : tensor<16xf32>
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @in_no_loops(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  // expected-error: linalg.generic is to be computed in the loops of F, and cannot be
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) attrs = {sched.at = "F"} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  %F = linalg.generic {indexing_maps = [#d, #d], iterator_types = ["parallel", "parallel"]}
    ins(%C : tensor<32x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.addf %x, %x : f32
    linalg.yield %p : f32
  } -> tensor<32x48xf32>
  func.return %F : tensor<32x48xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @unrolled_in_a_group(%x: tensor<?x4xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %low = arith.constant 0xFF800000 : f32
  %f = linalg.fill {sched.schedule = #sched.schedule<tile = [1], parallel = [0]>} ins(%low : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  // expected-error @below {{loop 0 has an extent known at run time, it cannot be written out}}
  %top = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x4xf32>) outs(%f : tensor<?xf32>)
    attrs = {sched.schedule = #sched.schedule<tile = [1, 0], unroll = [0]>} {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<?xf32>
  func.return %top : tensor<?xf32>
}
