// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p apply-schedule

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
sched.script @refused for "k" {
  %c = sched.stage "c"
  // expected-error: a choice has from 1 to 64 options, all numbers or all texts, found 2 options
  %n = sched.sample_choice of [4, "rows"] : 4
}

// -----

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
sched.script @refused for "k" {
  %c = sched.stage "c"
  // expected-error: the choice must be one of the options, found
  %n = sched.sample_choice of [4, 8] : 16
}

// -----

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
sched.script @refused for "k" {
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  %n = sched.sample_choice of ["rows"] : "rows"
  // expected-error: a factor of a split is a number, found the choice of a text
  %i0, %i1 = sched.split %i by [?, %n]
}

// -----

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
sched.script @refused for "k" {
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  %n = sched.sample_choice of [0, 4] : 0
  // expected-error: split(i): factors are positive, and the first may be `?`; found 0
  %i0, %i1 = sched.split %i by [?, %n]
}

// -----

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
sched.script @refused for "k" {
  %p = sched.stage "p"
  // expected-error: a depth must be 1 or more, in the loops of a stage, found depth
  sched.sample_place %p : "root" depth 1
}

// -----

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
sched.script @refused for "k" {
  %p = sched.stage "p"
  // expected-error: sample_place(p): no step before it has named stage c
  sched.sample_place %p : "c"
}

// -----

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
sched.script @refused for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  // expected-error: sample_place: the loops of stage c have no names yet
  sched.sample_place %p : "c" depth 1
}

// -----

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
sched.script @refused for "k" {
  %c = sched.stage "c"
  // expected-error: stage c is computed in the loops of another stage
  sched.sample_place %c : "c"
}

// -----

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
sched.script @refused for "k" {
  %c = sched.stage "c"
  // expected-error: compute_inline(c): c is a result of the kernel
  sched.sample_place %c : "inline"
}

// -----

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
sched.script @refused for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  %i, %j = sched.loops %c
  sched.vectorize %j
  // expected-error: compute_at(p): loop j is vectorized already, not built by compute_at
  sched.sample_place %p : "c" depth 1
}

// -----

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
sched.script @refused for "k" {
  %p = sched.stage "p"
  %c = sched.stage "c"
  // expected-error: compute_at(c): a later step has removed stage p
  sched.compute_at %c in %p
  sched.compute_inline %p
}

// -----

func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @refused for "scan" {
  %y = sched.stage "y"
  %n = sched.sample_choice of [16, 32] : 32
  // expected-error: a form is a text, found the choice of a number
  sched.set_form %y to %n
}

// -----

func.func private @scan(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = linalg_ext.scan %x into %e kind "sum" axis 0 exclusive false reverse false : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
sched.script @refused for "scan" {
  %y = sched.stage "y"
  %n = sched.sample_choice of ["rows"] : "rows"
  // expected-error: a size is a number, found the choice of a text
  sched.set_size %y "columns" to %n
}
