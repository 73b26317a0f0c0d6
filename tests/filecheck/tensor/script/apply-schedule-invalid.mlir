// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p apply-schedule

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 6]
  // expected-error: split(i): loop i was split: it is i.0 and i.1 now
  %i2, %i3 = sched.split %i by [?, 2]
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: split(i): factors are positive, and the first may be `?`; found 0
  %i0, %i1 = sched.split %i by [0, 4]
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: split(i): the factors make 28 iterations, loop i has 32 iterations
  %i0, %i1 = sched.split %i by [7, 4]
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: split(i): a tile has less than 2^31 iterations and an outer loop, found 1099511627776
  %i0, %i1 = sched.split %i by [?, 1099511627776]
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: tile(i, i): loop i was split: it is i.0 and i.1 now
  %i0, %j0, %i1, %j1 = sched.tile %i, %i by [4, 16]
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 6]
  // expected-error: reorder(i.1, i.0): loop i.1 runs inside of one step of i.0, and cannot contain it
  sched.reorder %i1, %i0
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.parallel %i, %j
  // expected-error: reorder(r, j): loop r is between loops i and j: parallel loops are next to each other
  sched.reorder %r, %j
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: parallel(r): loop r of C is summed over: all its iterations write C[i, j]
  sched.parallel %r
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 8]
  sched.parallel %i0
  // expected-error: parallel(i.1): loops i.1 and i.0 are parts of one, which is parallel already
  sched.parallel %i1
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %j0, %j1 = sched.split %j by [?, 16]
  // expected-error: vectorize(j.0): each iteration of loop j.0 has iterations of j.1
  sched.vectorize %j0
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.vectorize %r
  // expected-error: vectorize(j): loop r has the lanes already
  sched.vectorize %j
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: vectorize(j): loop r is inside of loop j, which is vectorized, and stays a loop
  sched.vectorize %j
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: unroll(j): loop j has 48 iterations: 48 copies, at most 8
  sched.unroll %j limit 8
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 4]
  // expected-error: unroll(i): loop r.0 is inside of loop i, which is unrolled, and stays a loop
  sched.unroll %i
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.unroll %r
  // expected-error: inside(r): loop r is unrolled already
  sched.inside %r
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: stage C is linalg.generic, which has loops and no forms
  sched.set_form %c to "rows"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: stage C is linalg.generic, which has loops and no forms
  sched.set_size %c "rows" to 4
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: kernel k has no stage D
  %d = sched.stage "D"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: stage C is named twice
  %d = sched.stage "C"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: the loops of stage C are named twice
  %l, %m, %n = sched.loops %c
}

// -----

func.func private @k(%A: tensor<32xf32>, %D: tensor<32xf32>) -> tensor<32xf32> {
  %z = arith.constant 0.0 : f32
  %C = linalg.fill ins(%z : f32) outs(%D : tensor<32xf32>) -> tensor<32xf32>
  func.return %C : tensor<32xf32>
}
// expected-error: no kernel, node or stage is named kk
sched.script @refused for "kk" {
}

// -----

func.func private @k(%A: tensor<32xf32>, %D: tensor<32xf32>) -> tensor<32xf32> {
  %z = arith.constant 0.0 : f32
  %C = linalg.fill ins(%z : f32) outs(%D : tensor<32xf32>) -> tensor<32xf32>
  func.return %C : tensor<32xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "C"
  // expected-error: stage C has 1 loops, found 2 names
  %i, %j = sched.loops %c
}

// -----

func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @refused for "scan" {
  %y = sched.stage "y"
  // expected-error: sizes of forms are positive, found columns = 0
  sched.set_size %y "columns" to 0
}

// -----

func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @refused for "scan" {
  %y = sched.stage "y"
  // expected-error: linalg_ext.scan: form rows scans the innermost axis only
  sched.set_form %y to "rows"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
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
sched.script @place for "k" {
  %c = sched.stage "C"
  %f = sched.stage "F"
  %i, %j = sched.loops %f
  sched.reorder %i, %j
  sched.parallel %i
  // expected-error: stage C is computed in the loops of another stage
  sched.compute_at %c in %c
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
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
sched.script @place for "k" {
  %c = sched.stage "C"
  %f = sched.stage "F"
  %i, %j = sched.loops %f
  sched.reorder %i, %j
  sched.parallel %i
  // expected-error: compute_at(F, C): F cannot be in the loops of C: none of them is parallel
  sched.compute_at %f in %c
}

// -----

func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @refused for "scan" {
  %y = sched.stage "y"
  // expected-error: stage y is linalg_ext.scan, which is in no loops of others
  sched.compute_root %y
}

// -----

func.func private @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%h : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "h"
  // expected-error: stream(h): h is no result of the kernel, later stages read it from the caches
  sched.stream %c
}

// -----

func.func private @k(%x: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "y"
  // expected-error: stream(y): y has a size known at run time
  sched.stream %c
}

// -----

func.func private @k(%x: tensor<64xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "y"
  %i = sched.loops %c
  // expected-error: bind(i): a CPU has no block.x
  sched.bind %i to "block.x"
}

// -----

func.func private @k(%x: tensor<4x64xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, r) -> (r, i)>, affine_map<(i, r) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "y"
  %i, %r = sched.loops %c
  // expected-error: prefetch(z, r, 2): the stage reads no input z of the kernel
  sched.prefetch %r "z" ahead 2
}

// -----

func.func private @k(%x: tensor<4x?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, r) -> (r, i)>, affine_map<(i, r) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
sched.script @refused for "k" {
  %c = sched.stage "y"
  %i, %r = sched.loops %c
  // expected-error: prefetch(x, r, 2): the stride of r in x is known at run time
  sched.prefetch %r "x" ahead 2
}
