// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: npu.program @p(%x: memref<4x4x1x16xi8>, %w: memref<2x16x16xi8>, %b: memref<1x1x16xi32>, %y: memref<4x1x16xi8>) config "pynq" {
npu.program @p(%x: memref<4x4x1x16xi8>, %w: memref<2x16x16xi8>, %b: memref<1x1x16xi32>, %y: memref<4x1x16xi8>) config "pynq" {
  // CHECK-NEXT: %a = npu.load inp %x[5] to 0 size [2, 2] stride 4 pad [1, 1, 1, 1] value -3 : memref<4x4x1x16xi8>
  %a = npu.load inp %x[5] to 0 size [2, 2] stride 4 pad [1, 1, 1, 1] value -3 : memref<4x4x1x16xi8>
  // CHECK-NEXT: %c = npu.load wgt %w[0] to 7 size [1, 2] stride 2 : memref<2x16x16xi8>
  %c = npu.load wgt %w[0] to 7 size [1, 2] stride 2 : memref<2x16x16xi8>
  // CHECK-NEXT: %d = npu.load acc %b[0] to 4 size [1, 1] stride 1 : memref<1x1x16xi32>
  %d = npu.load acc %b[0] to 4 size [1, 1] stride 1 : memref<1x1x16xi32>
  // CHECK-NEXT: %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0] wgt [0, 0] {note}
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0] wgt [0, 0] {note}
  // CHECK-NEXT: %g = npu.gemm uops [(0, 0, 7), (0, 1, 8)] loops [2, 2] dst [2, 1] src [4, 1] wgt [0, 0] after(%a, %c, %z)
  %g = npu.gemm uops [(0, 0, 7), (0, 1, 8)] loops [2, 2] dst [2, 1] src [4, 1] wgt [0, 0] after(%a, %c, %z)
  // CHECK-NEXT: %r = npu.alu shr imm -2 uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  %r = npu.alu shr imm -2 uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0]
  // CHECK-NEXT: %m = npu.alu mulshift uops [(0, 4, 4)] loops [1, 4] dst [0, 1] src [0, 0]
  %m = npu.alu mulshift uops [(0, 4, 4)] loops [1, 4] dst [0, 1] src [0, 0]
  // CHECK-NEXT: %s = npu.store unsigned %y[0] from 0 size [2, 2] stride 2 after(%m) : memref<4x1x16xi8>
  %s = npu.store unsigned %y[0] from 0 size [2, 2] stride 2 after(%m) : memref<4x1x16xi8>
  // CHECK-NEXT: %f = npu.finish after(%s)
  %f = npu.finish after(%s)
}
