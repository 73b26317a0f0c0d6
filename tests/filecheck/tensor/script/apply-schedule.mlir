// RUN: stepwell-opt %s --split-input-file -p apply-schedule | filecheck %s

// loops
// CHECK: #sched.schedule<tile = [1, 1, 1]>
// CHECK-NOT: sched.script
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
sched.script @loops for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c

}

// -----

// split
// CHECK: #sched.schedule<tile = [6, 0, 0]>
// CHECK-NOT: sched.script
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
sched.script @split for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 6]
  sched.inside %r, %j, %i1
}

// -----

// split_all
// CHECK: #sched.schedule<tile = [1, 16, 0], order = [1, 0], vectorize = 1>
// CHECK-NOT: sched.script
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
sched.script @split_all for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %j0, %j1 = sched.split %j by [3, 16]
  sched.inside %r
  sched.reorder %j0, %i, %j1
  sched.vectorize %j1
}

// -----

// tile
// CHECK: #sched.schedule<tile = [4, 16, 1], vectorize = 1>
// CHECK-NOT: sched.script
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
sched.script @tile for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %j0, %i1, %j1 = sched.tile %i, %j by [4, 16]
  sched.reorder %i0, %j0, %r, %i1, %j1
  sched.vectorize %j1
  sched.unroll %i1
}

// -----

// reorder
// CHECK: #sched.schedule<tile = [1, 1, 1], order = [2, 1, 0]>
// CHECK-NOT: sched.script
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
sched.script @reorder for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.reorder %r, %j, %i
}

// -----

// parallel
// CHECK: #sched.schedule<tile = [1, 1, 1], parallel = [0, 1]>
// CHECK-NOT: sched.script
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
sched.script @parallel for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.parallel %i, %j
}

// -----

// levels
// CHECK: #sched.schedule<levels = [<tile = [0, 0, 6]>, <tile = [8, 16, 1], parallel = [1, 0]>, <tile = [4, 0, 0]>], vectorize = 1, unroll = [0]>
// CHECK-NOT: sched.script
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
sched.script @levels for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1, %i2 = sched.split %i by [4, 2, 4]
  %j0, %j1 = sched.split %j by [3, 16]
  %r0, %r1 = sched.split %r by [2, 6]
  sched.reorder %r0, %j0, %i0, %r1, %i1, %i2, %j1
  sched.parallel %j0, %i0
  sched.vectorize %j1
  sched.unroll %i2
  sched.unroll %i1
}

// -----

// vectorize
// CHECK: #sched.schedule<tile = [1, 0, 1], vectorize = 1>
// CHECK-NOT: sched.script
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
sched.script @vectorize for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.reorder %r, %j
  sched.vectorize %j
}

// -----

// vectorize_a_sum
// CHECK: #sched.schedule<tile = [1, 1, 0], vectorize = 2>
// CHECK-NOT: sched.script
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
sched.script @vectorize_a_sum for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.vectorize %r
}

// -----

// unroll
// CHECK: #sched.schedule<tile = [1, 1, 0]>
// CHECK-NOT: sched.script
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
sched.script @unroll for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.unroll %r
}

// -----

// inside
// CHECK: #sched.schedule<tile = [1, 1, 0]>
// CHECK-NOT: sched.script
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
sched.script @inside for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  sched.inside %r
}

// -----

// A form and its sizes; other sizes are the form's own.
// CHECK: #sched.schedule<form = "columns", sizes = {columns = 32}>
func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @form for "y" {
  %y = sched.stage "y"
  sched.set_form %y to "columns"
  sched.set_size %y "columns" to 32
}

// -----

// A stage in the loops of another one, which gets a name for that.
// CHECK-LABEL: @placed(
// CHECK: linalg.generic {{.*}} {sched.at = "F"}
// CHECK: linalg.generic {{.*}} {sched.name = "F", sched.schedule = #sched.schedule<tile = [1, 1], parallel = [0]>}
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @placed(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
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
sched.script @place for "placed" {
  %c = sched.stage "C"
  %f = sched.stage "F"
  %i, %j = sched.loops %f
  sched.reorder %i, %j
  sched.parallel %i
  sched.compute_at %c in %f
}

// -----

// CHECK-LABEL: @rooted(
// CHECK: linalg.generic {{.*}} {sched.at = "root"}
#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
#d = affine_map<(i, j) -> (i, j)>
func.func private @rooted(%A: tensor<32x12xf32>, %B: tensor<12x48xf32>, %D: tensor<32x48xf32>) -> tensor<32x48xf32> {
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
sched.script @place for "rooted" {
  %c = sched.stage "C"
  %f = sched.stage "F"
  %i, %j = sched.loops %f
  sched.reorder %i, %j
  sched.parallel %i
  sched.compute_root %c
}
