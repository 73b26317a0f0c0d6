// RUN: stepwell run %s --device npu --fill ones | filecheck %s
// RUN: stepwell-opt %s -p encode-npu -o %t.mlir && stepwell run %t.mlir --device npu --fill ones | filecheck %s --check-prefix BYTES

// The sum of 16 ones, shifted by one.
// CHECK: y: int8[1, 1, 16]  min 8  mean 8  max 8
// BYTES: int8[1, 1, 16]  min 8  mean 8  max 8
npu.program @p(%x: memref<1x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<1x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<1x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a, %b)
  %r = npu.alu shr imm 1 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0]
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 after(%r) : memref<1x1x16xi8>
  %f = npu.finish after(%s)
}
