// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p apply-schedule

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<6x10xf32>, %B: tensor<10x18xf32>) -> tensor<6x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x18xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x18xf32>) -> tensor<6x18xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<6x10xf32>, tensor<10x18xf32>) outs(%D : tensor<6x18xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x18xf32>
  func.return %C : tensor<6x18xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: pad(i): a loop is padded to a multiple of a positive number, found 0
  sched.pad %i to 0
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<6x10xf32>, %B: tensor<10x18xf32>) -> tensor<6x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x18xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x18xf32>) -> tensor<6x18xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<6x10xf32>, tensor<10x18xf32>) outs(%D : tensor<6x18xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x18xf32>
  func.return %C : tensor<6x18xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 2]
  // expected-error: pad(j): the loops of C have decisions already
  sched.pad %j to 4
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<6x10xf32>, %B: tensor<10x18xf32>) -> tensor<6x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x18xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x18xf32>) -> tensor<6x18xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<6x10xf32>, tensor<10x18xf32>) outs(%D : tensor<6x18xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.divf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x18xf32>
  func.return %C : tensor<6x18xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: pad(r): nothing known to be associative combines the steps of loop r
  sched.pad %r to 4
}

// -----

#a = affine_map<(i, j, r) -> (i, r)>
#b = affine_map<(i, j, r) -> (r, j)>
#c = affine_map<(i, j, r) -> (i, j)>
func.func private @k(%A: tensor<6x10xf32>, %B: tensor<10x18xf32>) -> tensor<6x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x18xf32>
  %D = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x18xf32>) -> tensor<6x18xf32>
  %C = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%A, %B : tensor<6x10xf32>, tensor<10x18xf32>) outs(%D : tensor<6x18xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %z, %p : f32
    linalg.yield %q : f32
  } -> tensor<6x18xf32>
  func.return %C : tensor<6x18xf32>
}
sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  // expected-error: pad(j): B[r, j] would have 21474836470 elements
  sched.pad %j to 2147483647
}
