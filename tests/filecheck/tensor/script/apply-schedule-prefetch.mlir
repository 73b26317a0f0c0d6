// RUN: stepwell-opt %s -p apply-schedule | filecheck %s
// RUN: stepwell-opt %s -p apply-schedule,schedule-to-script | filecheck %s --check-prefix=SCRIPT
// RUN: stepwell-opt %s -p 'apply-schedule,tile-and-fuse,vectorize,unroll-vectors{mcpu=x86-64-v4},bufferize,linalg-to-loops,prefetch-rows{mcpu=x86-64-v4}' | filecheck %s --check-prefix=LOOPS
// RUN: stepwell-opt %s -p 'apply-schedule,tile-and-fuse,vectorize,unroll-vectors{mcpu=x86-64-v4},bufferize,linalg-to-loops,prefetch-rows{mcpu=x86-64-v4},expand-math{mcpu=x86-64-v4},convert-loops-to-llvm{mcpu=x86-64-v4}' | filecheck %s --check-prefix=LLVM

// Two steps of i0, each of 4 rows of 512 elements, are 4096 elements; of one row they are 8.
// CHECK-LABEL: func.func private @k(
// CHECK-SAME: %x: tensor<64x512xf32> {sched.prefetch = 4096 : i64}
// SCRIPT: %i, %j = sched.loops %y
// SCRIPT-NEXT: sched.prefetch %i "x" ahead 8
// LOOPS: vector.transfer_read %{{.*}} {sched.prefetch = 4096 : i64, in_bounds = [true]}
// LLVM: llvm.getelementptr %{{.*}}[4096]
// LLVM: llvm.intr.prefetch
func.func private @k(%x: tensor<64x512xf32>) -> tensor<64x512xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<64x512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x512xf32>) outs(%e : tensor<64x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  func.return %y : tensor<64x512xf32>
}
sched.script @s for "k" {
  %c = sched.stage "y"
  %i, %j = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 4]
  %j0, %j1 = sched.split %j by [?, 16]
  sched.reorder %i0, %i1, %j0, %j1
  sched.parallel %i0
  sched.vectorize %j1
  sched.prefetch %i0 "x" ahead 2
}
