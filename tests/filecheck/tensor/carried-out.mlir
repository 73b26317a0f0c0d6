// RUN: stepwell-opt %s -p 'sink-reshapes,compute-in-products,fuse-into-writes,pad-by-channel,pair-products,stage-operands,fill-borders,generalize-copies,collapse-loops,choose-schedules{mcpu=x86-64-v3},tile-and-fuse,vectorize,hoist-accumulators,unroll-vectors{mcpu=x86-64-v3}' | filecheck %s

// Text of `--emit vector` is input for all of level 2, which leaves it as it is: neither the slice inside the loop,
// nor an op that no schedule was for, nor long vectors.
// CHECK-LABEL: @done
// CHECK: sched.unrolled
// CHECK: scf.for
// CHECK-NEXT: vector.transfer_read {{.*}} vector<32xf32>
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: vector.transfer_write
// CHECK-NEXT: tensor.insert_slice
// CHECK-NEXT: scf.yield
// CHECK: linalg.generic
// CHECK-NOT: sched.schedule
// CHECK: func.return
#row = affine_map<(i, j) -> (i, j)>
func.func private @done(%x: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, sched.unrolled} {
  %lb = arith.constant 0 : index
  %ub = arith.constant 8 : index
  %step = arith.constant 1 : index
  %pad = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %a = scf.for %i = %lb to %ub step %step iter_args(%t = %e) -> (tensor<8x32xf32>) {
    %v = vector.transfer_read %x[%i, %lb], %pad {in_bounds = [true]} : tensor<8x32xf32>, vector<32xf32>
    %f = tensor.empty() : tensor<1x32xf32>
    %w = vector.transfer_write %v, %f[%lb, %lb] {in_bounds = [true]} : vector<32xf32>, tensor<1x32xf32>
    %n = tensor.insert_slice %w into %t[%i, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<8x32xf32>
    scf.yield %n : tensor<8x32xf32>
  }
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  func.return %y : tensor<8x32xf32>
}

// A kernel without vectors is marked as well.
// CHECK-LABEL: @scalar
// CHECK-SAME: sched.unrolled
func.func private @scalar(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  func.return %x : tensor<8xf32>
}
