// RUN: stepwell-opt %s -p assign-tokens | filecheck %s
// RUN: stepwell-opt %s -p assign-tokens,assign-tokens | filecheck %s

// An instruction waits for the last of several of a stage; one stage's own order needs no token.
// CHECK-LABEL: npu.program @p
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // CHECK-NEXT: npu.load inp {{.*}} stride 1 tokens [] :
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  // CHECK-NEXT: npu.load wgt {{.*}} tokens [push-next] :
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<2x16x16xi8>
  // CHECK-NEXT: npu.gemm reset {{.*}} tokens []
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  // CHECK-NEXT: npu.gemm {{.*}} after(%a, %b, %z) tokens [pop-prev]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a, %b, %z)
  // What came before what has been waited for is not waited for again.
  // CHECK-NEXT: npu.alu max {{.*}} after(%a) tokens [push-prev, push-next]
  %r = npu.alu max imm 0 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] after(%a)
  // CHECK-NEXT: npu.load inp {{.*}} after(%g, %r) tokens [pop-next, push-next] :
  %c = npu.load inp %x[1] to 0 size [1, 1] stride 1 after(%g, %r) : memref<4x1x16xi8>
  // CHECK-NEXT: npu.store {{.*}} after(%r) tokens [pop-prev, push-prev] :
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 after(%r) : memref<4x1x16xi8>
  // CHECK-NEXT: npu.finish after(%s, %c) tokens [pop-prev, pop-next]
  %f = npu.finish after(%s, %c)
}
