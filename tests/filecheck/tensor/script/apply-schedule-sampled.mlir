// RUN: stepwell-opt %s -p apply-schedule | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt | filecheck %s --check-prefix=TEXT
// RUN: stepwell-opt %s --remarks -p apply-schedule 2>&1 | filecheck %s --check-prefix=REMARK

// The choices of a search on loops of 12 and 40 iterations: what is too long for the first one is clamped.
// CHECK: %y = linalg.generic {{.*}}<tile = [12, 8], vectorize = 1
// TEXT: %t = sched.sample_tile %i levels 2 max 16 seed 7 : [32, 16]
// TEXT-NEXT: %u = sched.sample_tile %j levels 2 max 8 : [5, 8]
// TEXT-NEXT: %i0, %i1 = sched.split %i by %t
// REMARK: sample_tile(i): [?, 16] is [?, 12] for 12 iterations
// REMARK-NOT: sample_tile(j)
#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<12x40xf32>) -> tensor<12x40xf32> {
  %e = tensor.empty() : tensor<12x40xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<12x40xf32>) outs(%e : tensor<12x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<12x40xf32>
  func.return %y : tensor<12x40xf32>
}
sched.script @s for "k" {
  %c = sched.stage "y"
  %i, %j = sched.loops %c
  %t = sched.sample_tile %i levels 2 max 16 seed 7 : [32, 16]
  %u = sched.sample_tile %j levels 2 max 8 : [5, 8]
  %i0, %i1 = sched.split %i by %t
  %j0, %j1 = sched.split %j by %u
  sched.reorder %i0, %j0, %i1, %j1
  sched.inside %i1
  sched.vectorize %j1
}
