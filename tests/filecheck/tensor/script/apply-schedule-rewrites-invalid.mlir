// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p apply-schedule

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.parallel %i
  // expected-error: cache_write(C): the loops of C have decisions already
  %w = sched.cache_write %c
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: cache_write(C): a CPU has no shared: the scopes of copies are arena and stack
  %w = sched.cache_write %c scope "shared"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<320x12xf32>, %B: tensor<12x48xf32>) -> tensor<320x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<320x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<320x48xf32>) -> tensor<320x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<320x12xf32>, tensor<12x48xf32>) outs(%D : tensor<320x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<320x48xf32>
  func.return %C : tensor<320x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: cache_write(C): C has 61440 bytes, the stack has room for 16384
  %w = sched.cache_write %c scope "stack"
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: cache_read(C): C read no tensor X
  %w = sched.cache_read "X" for %c
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: rfactor(i): loop i of C is not summed over
  %w = sched.rfactor %i
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %r0, %r1 = sched.split %r by [?, 5]
  // expected-error: rfactor(r.0): parts of 5 do not divide the loop, which has 12 iterations
  %w = sched.rfactor %r0
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: rfactor(r): the partial results have axes 0 to 2, found 3
  %w = sched.rfactor %r axis 3
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.divf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: rfactor(r): nothing known to be associative combines the steps of loop r
  %w = sched.rfactor %r
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: fuse(i, j): no stride walks i and j together in A[i, r]
  sched.fuse %i, %j
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: fuse(j, r): j and r are of two kinds: r is summed over
  sched.fuse %j, %r
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 4]
  // expected-error: fuse(i.0, i.1): i.0 and i.1 are parts of loops that were split
  sched.fuse %i0, %i1
}

// -----

#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<9x12xf32>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<9x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<9x12xf32>) outs(%e : tensor<9x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<9x12xf32>
  %0 = tensor.extract_slice %p[0, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %1 = tensor.extract_slice %p[2, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %f = tensor.empty() : tensor<7x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%0, %1 : tensor<7x12xf32>, tensor<7x12xf32>) outs(%f : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  func.return %c : tensor<7x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  // expected-error: compute_inline(c): c is a result of the kernel
  sched.compute_inline %c
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: compute_inline(C): C sums: it would sum again for each element of its readers
  sched.compute_inline %c
}

// -----

#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<9x12xf32>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<9x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<9x12xf32>) outs(%e : tensor<9x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<9x12xf32>
  %0 = tensor.extract_slice %p[0, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %1 = tensor.extract_slice %p[2, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %f = tensor.empty() : tensor<7x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%0, %1 : tensor<7x12xf32>, tensor<7x12xf32>) outs(%f : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  func.return %c : tensor<7x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  // expected-error: reverse_compute_inline(c): c reads no stage without sums that has no other reader
  sched.reverse_compute_inline %c
}

// -----

#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<9x12xf32>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<9x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<9x12xf32>) outs(%e : tensor<9x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<9x12xf32>
  %0 = tensor.extract_slice %p[0, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %1 = tensor.extract_slice %p[2, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %f = tensor.empty() : tensor<7x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%0, %1 : tensor<7x12xf32>, tensor<7x12xf32>) outs(%f : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  func.return %c : tensor<7x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  %k, %l = sched.loops %p
  // expected-error: compute_at(c): c is used outside of p as well, or not read by it
  sched.compute_at %c in %p at %k
}

// -----

#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<9x12xf32>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<9x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<9x12xf32>) outs(%e : tensor<9x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<9x12xf32>
  %0 = tensor.extract_slice %p[0, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %1 = tensor.extract_slice %p[2, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %f = tensor.empty() : tensor<7x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%0, %1 : tensor<7x12xf32>, tensor<7x12xf32>) outs(%f : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  func.return %c : tensor<7x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.vectorize %j
  // expected-error: compute_at(p): loop j is vectorized already, not built by compute_at
  sched.compute_at %p in %c at %i
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: transform_layout(C): B[0, 0] and B[0, 1] would be at one place
  %b = sched.transform_layout "B" for %c to affine_map<(k, n) -> (n floordiv 16, k, k mod 16)>
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: transform_layout(C): an index of a layout is a dimension, or the quotient
  %b = sched.transform_layout "B" for %c to affine_map<(k, n) -> (k + n * 12, 0)>
}

// -----

#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<9x12xf32>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<9x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<9x12xf32>) outs(%e : tensor<9x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<9x12xf32>
  %0 = tensor.extract_slice %p[0, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %1 = tensor.extract_slice %p[2, 0] [7, 12] [1, 1] : tensor<9x12xf32> to tensor<7x12xf32>
  %f = tensor.empty() : tensor<7x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%0, %1 : tensor<7x12xf32>, tensor<7x12xf32>) outs(%f : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  func.return %c : tensor<7x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.compute_inline %p
  // expected-error: compute_root: compute_inline has removed stage p
  sched.compute_root %p
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<32x12xf32>, tensor<12x48xf32>) outs(%D : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<32x48xf32>
  func.return %C : tensor<32x48xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %w = sched.cache_write %c
  // expected-error: unroll: loop r was one of C before: sched.loops names those of now
  sched.unroll %r
}
