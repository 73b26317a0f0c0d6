// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // expected-error @below {{a buffer is inp, wgt, acc, found uop}}
  %a = npu.load uop %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{elements 2 to 5 of an array that has 4}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[2] to 0 size [2, 2] stride 2 : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{the last dimensions must be an element, 16x16, found memref<4x1x16xi8>}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %a = npu.load wgt %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{npu.load accesses element 2050 of inp, which has 2048}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 2047 size [1, 4] stride 4 : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{npu.gemm accesses element 2050 of acc, which has 2048}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %a = npu.gemm uops [(0, 0, 0)] loops [2, 1026] dst [1025, 1] src [0, 0] wgt [0, 0]
  %f = npu.finish
}

// -----

npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // expected-error @below {{loops is two numbers, outer and inner, found [0, 1]}}
  %a = npu.gemm uops [(0, 0, 0)] loops [0, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %f = npu.finish
}

// -----

npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // expected-error @below {{uops are three indices each, at least one of them}}
  %a = npu.gemm uops [] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
  %f = npu.finish
}

// -----

npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // expected-error @below {{mulshift takes its numbers from acc, not an immediate}}
  %a = npu.alu mulshift imm 3 uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0]
  %f = npu.finish
}

// -----

npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  // expected-error @below {{an operation is min, max, add, shr, mulshift, found mul}}
  %a = npu.alu mul uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0]
  %f = npu.finish
}

// -----

// expected-error @below {{each stage waits for a token that no instruction gives; instruction 0, store, waits for a token of compute}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 tokens [pop-prev] : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{1 tokens from store to compute are never taken}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 tokens [push-prev] : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{store has no stage on that side for its token}}
npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 tokens [push-next] : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

npu.program @p(%x: memref<4x1x16xi8>, %w: memref<2x16x16xi8>, %y: memref<4x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
  // expected-error @below {{npu.store cannot wait for npu.load, of the stage load: no queue leads to store}}
  %s = npu.store %y[0] from 0 size [1, 1] stride 1 after(%a) : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

npu.program @p(%x: memref<4x1x16xi8>) config "pynq" {
  // expected-error @below {{npu.load terminates block in single-block region but is not a terminator}}
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<4x1x16xi8>
}

// -----

// expected-error @below {{a program is instructions with npu.finish at the end, found arith.constant}}
npu.program @p() config "pynq" {
  %c = arith.constant 0 : index
  %f = npu.finish
}

// -----

// expected-error @below {{the arguments of a program are arrays: memref<…>}}
npu.program @p(%x: tensor<4x1x16xi8>) config "pynq" {
  %f = npu.finish
}

// -----

// expected-error @below {{config must be one of pynq, ultra96, or a file of JSON, found 'none'}}
npu.program @p() config "none" {
  %f = npu.finish
}

// -----

// expected-error @below {{places are from 0 on, and sizes from 1 on, found [0] to 0 size [0, 1] stride 1}}
npu.program @p(%x: memref<4x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [0, 1] stride 1 : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// expected-error @below {{places are from 0 on, and sizes from 1 on, found [0] to 0 size [1, 1] stride -1}}
npu.program @p(%x: memref<4x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride -1 : memref<4x1x16xi8>
  %f = npu.finish
}

// -----

// Two open sizes are no array of 2^126 elements.

// expected-error @below {{the sizes of arrays must be known, found memref<?x?x1x16xi8>}}
npu.program @p(%x: memref<?x?x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<?x?x1x16xi8>
  %f = npu.finish
}
