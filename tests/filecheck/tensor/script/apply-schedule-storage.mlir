// RUN: stepwell-opt %s -p apply-schedule | filecheck %s
// RUN: stepwell-opt %s -p apply-schedule,schedule-to-script | filecheck %s --check-prefix=SCRIPT
// RUN: stepwell-opt %s -p 'apply-schedule,tile-and-fuse,vectorize,unroll-vectors{mcpu=x86-64-v3},bufferize' | filecheck %s --check-prefix=BUFFERS

// The rows of p are 68 elements apart, and stay so when y has loops that p could share.
// CHECK-LABEL: func.func private @k(
// CHECK: %[[WIDE:.*]] = tensor.empty() : tensor<64x68xf32>
// CHECK-NEXT: %[[PART:.*]] = tensor.extract_slice %[[WIDE]][0, 0] [64, 64] [1, 1]
// CHECK: %p = linalg.generic {{.*}} outs(%[[PART]] : tensor<64x64xf32>)
// SCRIPT: %[[P:.*]] = sched.stage "p"
// SCRIPT: sched.storage_align %[[P]] axis 0 to 68
// BUFFERS: %[[BUFFER:.*]] = memref.view {{.*}} to memref<64x68xf32>
// BUFFERS: %[[ROWS:.*]] = memref.subview %[[BUFFER]][0, 0] [64, 64] [1, 1] {{.*}} strided<[68, 1]>
// BUFFERS-NOT: memref.copy
// BUFFERS: vector.transfer_write %{{.*}}, %[[ROWS]][
// BUFFERS: "scf.parallel"
// BUFFERS: vector.transfer_read %[[ROWS]][
#same = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  %f = tensor.empty() : tensor<64x64xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
sched.script @s for "k" {
  %p = sched.stage "p"
  sched.storage_align %p axis 0 to 16 offset 4
  %i, %j = sched.loops %p
  %j0, %j1 = sched.split %j by [?, 8]
  sched.vectorize %j1
  %y = sched.stage "y"
  %k, %l = sched.loops %y
  %l0, %l1 = sched.split %l by [?, 8]
  sched.parallel %k
  sched.vectorize %l1
}
