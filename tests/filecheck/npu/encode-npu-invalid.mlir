// RUN: stepwell-opt %s -p encode-npu --split-input-file --verify-diagnostics

// expected-error @below {{arrays are of i8 or i32 and of known sizes, found memref<1x1x16xf32>}}
npu.program @p(%x: memref<1x1x16xf32>) config "pynq" {
  %f = npu.finish
}

// -----

// expected-error @unknown {{pad of load is 0 to 15, found 16}}
npu.program @p(%x: memref<1x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 pad [16, 0, 0, 0] value 0 : memref<1x1x16xi8>
  %f = npu.finish
}
