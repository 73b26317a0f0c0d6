// RUN: stepwell-opt %s -p add-npu-waits --verify-diagnostics

npu.program @p(%x: memref<4x1x16xi8>) config "pynq" {
  %s = npu.store %x[0] from 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  // expected-error @below {{array 0 is loaded and stored: no queue leads from stores to loads}}
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  %f = npu.finish
}
