// RUN: stepwell-opt %s --split-input-file -p apply-schedule | filecheck %s

// CHECK-LABEL: func.func private @k(
// CHECK: %C_cache = linalg.generic {{.*}} outs(%{{.*}} : tensor<32x48xf32>) attrs = {{.*}}sched.name = "C_cache"
// CHECK: %C = linalg.generic {{.*}}ins(%C_cache : tensor<32x48xf32>) {{.*}}sched.name = "C"
// CHECK: func.return %C
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
  %w = sched.cache_write %c
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: %B_cache = linalg.generic {{.*}}ins(%B : tensor<12x48xf32>) {{.*}}sched.name = "B_cache", sched.schedule = #sched.schedule<tile = [1, 0], vectorize = 1>
// CHECK: %C = linalg.generic {{.*}}ins(%A, %B_cache :
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
  %b = sched.cache_read "B" for %c
  %i, %j = sched.loops %b
  sched.vectorize %j
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: tensor.expand_shape %A {{.*}} output_shape [32, 3, 4]
// CHECK: linalg.fill {{.*}} -> tensor<3x32x48xf32>
// CHECK: %C_rf = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME: sched.name = "C_rf"
// CHECK: %C = linalg.generic {{.*}}(d0, d1, d2) -> (d2, d0, d1)
// CHECK-SAME: ins(%C_rf : tensor<3x32x48xf32>)
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
  %r0, %r1 = sched.split %r by [?, 4]
  %f = sched.rfactor %r0
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: tensor.collapse_shape
// CHECK: %c = linalg.generic {{.*}}outs({{.*}}tensor<84xf32>)
// CHECK: tensor.expand_shape %c
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
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.fuse %i, %j
  %f = sched.loops %c
  sched.vectorize %f
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: %[[A:.*]] = tensor.extract_slice %x[0, 0]
// CHECK: %[[B:.*]] = tensor.extract_slice %x[2, 0]
// CHECK: %c = linalg.generic {{.*}}ins(%[[A]], %[[B]] :
// CHECK: math.exp
// CHECK: math.exp
// CHECK-NOT: linalg.generic
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
  sched.compute_inline %p
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: %c = scf.for %[[I:.*]] = {{.*}} iter_args
// CHECK: tensor.extract_slice %x[%[[I]], 0] [3, 12]
// CHECK: %p = linalg.generic {{.*}}vectorize = 1
// CHECK: tensor.extract_slice %p[2, 0] [1, 12]
// CHECK: linalg.generic
// CHECK: tensor.insert_slice
// CHECK: sched.parallel
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
  sched.parallel %i
  sched.compute_at %p in %c at %i
  %a, %b = sched.loops %p
  sched.vectorize %b
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: tensor.expand_shape %B {{.*}} output_shape [12, 3, 16]
// CHECK: %B_packed = linalg.generic {{.*}}sched.name = "B_packed"
// CHECK: %C = linalg.generic {{.*}}(d0, d1, d2, d3) -> (d1, d2, d3)
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction", "parallel"]
// CHECK: tensor.collapse_shape %C
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
  %b = sched.transform_layout "B" for %c to affine_map<(k, n) -> (n floordiv 16, k, n mod 16)>
}

// -----

// CHECK-LABEL: func.func private @k(
// CHECK: %p = linalg.generic
// CHECK: %c = linalg.generic
// CHECK: math.sqrt
// CHECK: arith.addf
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
  %g = tensor.empty() : tensor<7x12xf32>
  %u = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%1 : tensor<7x12xf32>) outs(%g : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  %f = tensor.empty() : tensor<7x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%0, %u : tensor<7x12xf32>, tensor<7x12xf32>) outs(%f : tensor<7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<7x12xf32>
  func.return %c : tensor<7x12xf32>
}
sched.script @s for "k" {
  %c = sched.stage "c"
  sched.reverse_compute_inline %c
}
