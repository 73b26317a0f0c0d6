// RUN: stepwell-opt %s -p encode-npu | filecheck %s
// RUN: stepwell-opt %s -p encode-npu | stepwell-opt -p decode-npu | filecheck %s --check-prefix=DECODED
// RUN: stepwell-opt %s -p assign-tokens,encode-npu,decode-npu,encode-npu | filecheck %s

// The first instruction loads the micro-ops, equal ones once.
// CHECK: npu.binary @p(memref<1x1x16xi8>, memref<1x16x16xi8>, memref<1x1x16xi8>) config "pynq"
// CHECK-SAME: instructions ["0000c03f000040000800010000000000", "80000000{{.*}}, "14000000000000000000000000000000"] uops ["0000000000"]
// DECODED: npu.program @p(%{{.*}}: memref<1x1x16xi8>, %{{.*}}: memref<1x16x16xi8>, %{{.*}}: memref<1x1x16xi8>) config "pynq" {
// DECODED-NEXT: npu.load inp %{{.*}}[0] to 0 size [1, 1] stride 1 pad [0, 0, 1, 0] value -3 tokens [] :
// DECODED-NEXT: npu.load wgt %{{.*}}[0] to 0 size [1, 1] stride 1 tokens [push-next] :
// DECODED-NEXT: npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] tokens []
// DECODED-NEXT: npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] tokens [pop-prev]
// DECODED-NEXT: npu.alu shr imm 7 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] tokens [push-next]
// DECODED-NEXT: npu.store unsigned %{{.*}}[0] from 0 size [1, 1] stride 1 tokens [pop-prev, push-prev] :
// DECODED-NEXT: npu.finish tokens [pop-next]
npu.program @p(%x: memref<1x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<1x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 pad [0, 0, 1, 0] value -3 : memref<1x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a, %b)
  %r = npu.alu shr imm 7 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0]
  %s = npu.store unsigned %y[0] from 0 size [1, 1] stride 1 after(%r) : memref<1x1x16xi8>
  %f = npu.finish after(%s)
}
