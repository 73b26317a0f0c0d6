// RUN: stepwell-opt %s --split-input-file -p apply-schedule | filecheck %s
// RUN: stepwell-opt %s --split-input-file | stepwell-opt --split-input-file | filecheck %s --check-prefix=TEXT
// RUN: stepwell-opt %s --split-input-file --remarks -p apply-schedule 2>&1 | filecheck %s --check-prefix=REMARK

// Numbers that a search has chosen: one that exceeds the loop is clamped.
// CHECK: %c = linalg.generic {{.*}}<tile = [8, 4], order = [1, 0], vectorize = 1>
// TEXT: %n = sched.sample_choice of [2, 4, 64] : 4
// TEXT-NEXT: %m = sched.sample_choice of [16] : 16
// TEXT-NEXT: sched.split %j by [?, %n]
// REMARK: split(i): [?, 16] is [?, 8] for 8 iterations
// REMARK-NOT: split(j)
#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  func.return %c : tensor<8x12xf32>
}
sched.script @s for "k" {
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  %n = sched.sample_choice of [2, 4, 64] : 4
  %m = sched.sample_choice of [16] : 16
  %j0, %j1 = sched.split %j by [?, %n]
  %i0, %i1 = sched.split %i by [?, %m]
  sched.reorder %j0, %i0, %i1, %j1
  sched.inside %i1
  sched.vectorize %j1
}

// -----

// A form and a size of it.
// CHECK: #sched.schedule<form = "columns", sizes = {columns = 32}>
// TEXT: %f = sched.sample_choice of ["rows", "columns"] : "columns"
// TEXT-NEXT: sched.set_form %y to %f
// TEXT-NEXT: %n = sched.sample_choice of [16, 32] : 32
// TEXT-NEXT: sched.set_size %y "columns" to %n
func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @form for "y" {
  %y = sched.stage "y"
  %f = sched.sample_choice of ["rows", "columns"] : "columns"
  sched.set_form %y to %f
  %n = sched.sample_choice of [16, 32] : 32
  sched.set_size %y "columns" to %n
}

// -----

// By the tiles of another stage.
// CHECK: linalg.generic {{.*}} {sched.at = "c"}
// CHECK: linalg.generic {{.*}} {sched.name = "c", sched.schedule = #sched.schedule<tile = [1, 1], parallel = [0]>}
// TEXT: sched.sample_place %p : "c"
#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  func.return %c : tensor<8x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.parallel %i
  sched.sample_place %p : "c"
}

// -----

// In a loop of another stage.
// CHECK: %c = scf.for
// CHECK: %p = linalg.generic
// CHECK: linalg.generic
// CHECK: tensor.insert_slice
// TEXT: sched.sample_place %p : "c" depth 1
#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  func.return %c : tensor<8x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.sample_place %p : "c" depth 1
}

// -----

// In all loops: there are two.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %p = linalg.generic
// REMARK: sample_place: depth 9 is 2, since c has 2 loops
#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  func.return %c : tensor<8x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.sample_place %p : "c" depth 9
}

// -----

// In loops of its own; in the bodies of its readers.
// CHECK: linalg.generic {{.*}} {sched.at = "root"}
// TEXT: sched.sample_place %p : "root"
#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  func.return %c : tensor<8x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  sched.sample_place %p : "root"
}

// -----

// CHECK: func.func private @k(
// CHECK: %c = linalg.generic {{.*}} ins(%x
// CHECK: math.exp
// CHECK-NEXT: math.sqrt
// TEXT: sched.sample_place %p : "inline"
#i = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %c = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  func.return %c : tensor<8x12xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  sched.sample_place %p : "inline"
}
