// RUN: stepwell-opt %s -p apply-schedule | filecheck %s
// RUN: stepwell-opt %s -p apply-schedule,schedule-to-script | filecheck %s --check-prefix=SCRIPT
// RUN: stepwell-opt %s -p 'apply-schedule,tile-and-fuse,vectorize,unroll-vectors{mcpu=x86-64-v4},bufferize,linalg-to-loops,stream-stores{mcpu=x86-64-v4}' | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func private @k(
// CHECK-SAME: -> (tensor<512xf32> {sched.stream})
// SCRIPT: sched.stream %y
// LOOPS: vector.store %{{.*}} {nontemporal = true}
func.func private @k(%x: tensor<512xf32>) -> tensor<512xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<512xf32>) outs(%e : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  func.return %y : tensor<512xf32>
}
sched.script @s for "k" {
  %c = sched.stage "y"
  %i = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 16]
  sched.parallel %i0
  sched.vectorize %i1
  sched.stream %c
}
