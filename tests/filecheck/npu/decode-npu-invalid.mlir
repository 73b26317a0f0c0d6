// RUN: stepwell-opt %s -p decode-npu --split-input-file --verify-diagnostics

// expected-error @below {{a text is 16 bytes in hexadecimal, found '0400'}}
npu.binary @p() config "pynq" instructions ["0400"] uops []

// -----

// expected-error @below {{byte 0: there is no instruction 7}}
npu.binary @p() config "pynq" instructions ["07000000000000000000000000000000"] uops []

// -----

// expected-error @below {{arrays are of i8 or i32, found memref<1xf32>}}
npu.binary @p(memref<1xf32>) config "pynq" instructions ["04000000000000000000000000000000"] uops []

// -----

// The product has a micro-op that is not there.
// expected-error @unknown {{instruction 0 names an array or a micro-op that is not there}}
npu.binary @p() config "pynq" instructions ["02000001044000000000000000000004", "04000000000000000000000000000000"] uops []
