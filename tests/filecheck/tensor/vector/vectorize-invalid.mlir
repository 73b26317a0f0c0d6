// RUN: stepwell-opt %s -p vectorize --split-input-file --verify-diagnostics
// RUN: stepwell-opt %s -p vectorize --split-input-file | filecheck %s

// Tiles that stay as they are, each with its reason.
// CHECK-NOT: vector.

// A schedule with tiled loops belongs to tile-and-fuse: no tile, and no remark.
func.func private @tiled(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {sched.schedule = #sched.schedule<tile = [4], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// -----

func.func private @dynamic(%x: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  // expected-remark: not vectorized: its tile has an extent that is not known here
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}

// -----

func.func private @empty(%x: tensor<0xf32>, %e: tensor<0xf32>) -> tensor<0xf32> {
  // expected-remark: not vectorized: 0 elements and 1 steps are no tile for registers
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<0xf32>) outs(%e : tensor<0xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<0xf32>
  func.return %r : tensor<0xf32>
}

// -----

func.func private @long(%x: tensor<2049xf32>, %e: tensor<2049xf32>) -> tensor<2049xf32> {
  // expected-remark: not vectorized: 2049 elements and 1 steps are no tile for registers
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<2049xf32>) outs(%e : tensor<2049xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<2049xf32>
  func.return %r : tensor<2049xf32>
}

// -----

func.func private @steps(%x: tensor<33x4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark: not vectorized: 4 elements and 33 steps are no tile for registers
  %r = linalg.generic {indexing_maps = [affine_map<(k, i) -> (k, i)>, affine_map<(k, i) -> (i)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<33x4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// Lanes that no op of vectors combines.
func.func private @no_combiner(%x: tensor<2x4xf32>, %e: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark: not vectorized: no vector operation combines the lanes of its reduction
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x4xf32>) outs(%e : tensor<2xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %s: f32):
    %t = arith.divf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

// -----

// The accumulator is a part of what is added, too.
func.func private @used_twice(%x: tensor<2x4xf32>, %e: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark: not vectorized: no vector operation combines the lanes of its reduction
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x4xf32>) outs(%e : tensor<2xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %s, %a : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

// -----

func.func private @diagonal(%x: tensor<4x4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark: not vectorized: it reaches an operand of type tensor<4x4xf32> by (d0) -> (d0, d0)
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

func.func private @complex(%x: tensor<4xcomplex<f32>>, %e: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-remark: not vectorized: it reaches an operand of type tensor<4xcomplex<f32>> by (d0) -> (d0)
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: complex<f32>, %b: complex<f32>):
    linalg.yield %a : complex<f32>
  } -> tensor<4xcomplex<f32>>
  func.return %r : tensor<4xcomplex<f32>>
}

// -----

func.func private @strided_result(%x: tensor<4xf32>, %e: tensor<7xf32>) -> tensor<7xf32> {
  // expected-remark: not vectorized: it writes its result by (d0) -> ((d0 * 2))
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i * 2)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<7xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<7xf32>
  func.return %r : tensor<7xf32>
}

// -----

func.func private @overwritten_result(%x: tensor<2x4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark: not vectorized: it writes its result by (d0, d1) -> (d1)
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x4xf32>) outs(%e : tensor<4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

func.func private @diagonal_result(%x: tensor<4xf32>, %e: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-remark: not vectorized: it reaches an operand of type tensor<4x4xf32> by (d0) -> (d0, d0)
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4x4xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// -----

func.func private @reads(%t: tensor<9xf32>, %x: tensor<65xi64>, %e: tensor<65xf32>) -> tensor<65xf32> {
  // expected-remark: not vectorized: 65 elements at positions of their own are no tile for registers
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<65xi64>) outs(%e : tensor<65xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: i64, %b: f32):
    %at = arith.index_cast %a : i64 to index
    %v = tensor.extract %t[%at] : tensor<9xf32>
    linalg.yield %v : f32
  } -> tensor<65xf32>
  func.return %r : tensor<65xf32>
}

// -----

// No machine has divisions that round up or down for all lanes.
func.func private @no_form(%x: tensor<4xi32>, %e: tensor<4xi32>) -> tensor<4xi32> {
  // expected-remark: not vectorized: arith.floordivsi has no form on vectors
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) attrs = {sched.schedule = #sched.schedule<tile = [0], vectorize = 0>} {
  ^bb0(%a: i32, %b: i32):
    %q = arith.floordivsi %a, %b : i32
    linalg.yield %q : i32
  } -> tensor<4xi32>
  func.return %r : tensor<4xi32>
}

// -----

// The body before reduced lanes has to have a form, too.
func.func private @no_form_reduced(%x: tensor<2x4xi32>, %e: tensor<2xi32>) -> tensor<2xi32> {
  // expected-remark: not vectorized: arith.ceildivsi has no form on vectors
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x4xi32>) outs(%e : tensor<2xi32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} {
  ^bb0(%a: i32, %s: i32):
    %q = arith.ceildivsi %a, %a : i32
    %t = arith.addi %s, %q : i32
    linalg.yield %t : i32
  } -> tensor<2xi32>
  func.return %r : tensor<2xi32>
}
