// RUN: stepwell-opt %s --split-input-file --verify-diagnostics -p apply-schedule

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x?xf32>, %n: index) -> (tensor<8x?xf32>, tensor<1x8xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %open = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %f = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%open : tensor<8x?xf32>) outs(%f : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %c = arith.constant 1.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %one = linalg.fill ins(%c : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %twice = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%one : tensor<2x4xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %row = tensor.collapse_shape %twice [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  func.return %y, %rows : tensor<8x?xf32>, tensor<1x8xf32>
}
sched.script @s for "k" {
  %c = sched.stage "open"
  // expected-error: storage_align(open): the stride of dimension 0 is known at run time
  sched.storage_align %c axis 0 to 16
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x?xf32>, %n: index) -> (tensor<8x?xf32>, tensor<1x8xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %open = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %f = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%open : tensor<8x?xf32>) outs(%f : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %c = arith.constant 1.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %one = linalg.fill ins(%c : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %twice = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%one : tensor<2x4xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %row = tensor.collapse_shape %twice [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  func.return %y, %rows : tensor<8x?xf32>, tensor<1x8xf32>
}
sched.script @s for "k" {
  %c = sched.stage "y"
  // expected-error: storage_align(y): y is a result of the kernel, whose layout its caller knows
  sched.storage_align %c axis 0 to 16
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x?xf32>, %n: index) -> (tensor<8x?xf32>, tensor<1x8xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %open = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %f = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%open : tensor<8x?xf32>) outs(%f : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %c = arith.constant 1.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %one = linalg.fill ins(%c : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %twice = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%one : tensor<2x4xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %row = tensor.collapse_shape %twice [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  func.return %y, %rows : tensor<8x?xf32>, tensor<1x8xf32>
}
sched.script @s for "k" {
  %c = sched.stage "twice"
  // expected-error: storage_align(twice): twice is reshaped or part of a larger tensor
  sched.storage_align %c axis 0 to 16
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x?xf32>, %n: index) -> (tensor<8x?xf32>, tensor<1x8xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %open = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %f = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%open : tensor<8x?xf32>) outs(%f : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %c = arith.constant 1.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %one = linalg.fill ins(%c : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %twice = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%one : tensor<2x4xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %row = tensor.collapse_shape %twice [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  func.return %y, %rows : tensor<8x?xf32>, tensor<1x8xf32>
}
sched.script @s for "k" {
  %c = sched.stage "one"
  // expected-error: storage_align(one): one fills a tensor with a number
  sched.storage_align %c axis 0 to 16
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x?xf32>, %n: index) -> (tensor<8x?xf32>, tensor<1x8xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %open = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %f = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%open : tensor<8x?xf32>) outs(%f : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %c = arith.constant 1.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %one = linalg.fill ins(%c : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %twice = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%one : tensor<2x4xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %row = tensor.collapse_shape %twice [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  func.return %y, %rows : tensor<8x?xf32>, tensor<1x8xf32>
}
sched.script @s for "k" {
  %c = sched.stage "open"
  // expected-error: storage_align(open): dimension 1 is the last one
  sched.storage_align %c axis 1 to 16
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x?xf32>, %n: index) -> (tensor<8x?xf32>, tensor<1x8xf32>) {
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %open = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x?xf32>) outs(%e : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %f = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%open : tensor<8x?xf32>) outs(%f : tensor<8x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x?xf32>
  %c = arith.constant 1.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %one = linalg.fill ins(%c : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = tensor.empty() : tensor<2x4xf32>
  %twice = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%one : tensor<2x4xf32>) outs(%h : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %row = tensor.collapse_shape %twice [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %rows = tensor.expand_shape %row [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  func.return %y, %rows : tensor<8x?xf32>, tensor<1x8xf32>
}
sched.script @s for "k" {
  %c = sched.stage "open"
  // expected-error: storage_align(open): a stride is a multiple of a factor, plus an offset below it, found 16 and 16
  sched.storage_align %c axis 0 to 16 offset 16
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %p = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x6xf32>
  %f = tensor.empty() : tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x6xf32>) outs(%f : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %y = sched.stage "y"
  %i, %j = sched.loops %y
  sched.parallel %i
  sched.storage_align %p axis 0 to 16
  // expected-error: compute_at(p, y): p cannot be in the loops of y: storage_align stores all of it
  sched.compute_at %p in %y
}

// -----

#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %p = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x6xf32>
  %f = tensor.empty() : tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%p : tensor<8x6xf32>) outs(%f : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  %i, %j = sched.loops %p
  sched.storage_align %p axis 0 to 16
  // expected-error: fuse: the rows of p in memory are decided already
  sched.fuse %i, %j
}
