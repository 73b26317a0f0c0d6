// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// expected-error: `for` must name a kernel, a stage or a node, found an empty name
sched.script @s for "" {
}

// -----

// expected-error: a script has stages and primitives alone, found arith.constant
sched.script @s for "k" {
  %x = arith.constant 0 : i32
}

// -----

sched.script @s for "k" {
  %c = sched.stage "C"
  %i, %j = sched.loops %c
  // expected-error: a tile has two loops, two factors, and four results
  %a, %b, %d, %e = sched.tile %i, %j by [4]
}

// -----

#all = affine_map<(i) -> (i)>
func.func private @k(%A: tensor<32xf32>, %D: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error: sched.loops must be an array of strings, found [3 : i64]
  %C = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]}
    ins(%A : tensor<32xf32>) outs(%D : tensor<32xf32>) attrs = {sched.loops = [3]} {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<32xf32>
  func.return %C : tensor<32xf32>
}
