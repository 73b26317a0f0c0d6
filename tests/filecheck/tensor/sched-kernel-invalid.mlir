// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

// (C1)
// expected-error: inputs must not be negative, found -1
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = -1, outputs = 1>}
// -----
// expected-error: outputs must not be negative, found -1
func.func private @k(%x: tensor<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = -1>}
// -----
// expected-error: outputs must be at most 65536, found 1180591620717411303424
func.func private @k(%x: tensor<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1180591620717411303424>}
// -----
// (C2)
// expected-error: symbols must be distinct, found N twice
func.func private @k(%N: index, %M: index) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 0, symbols = ["N", "N"]>}
// -----
// expected-error: symbols must be names, found '2 * N'
func.func private @k(%N: index) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 0, symbols = ["2 * N"]>}
// -----
// (C3)
// expected-error: scratch must be over the symbols ['N'], found M in '4 * M'
func.func private @k(%N: index) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 0, scratch = "4 * M", symbols = ["N"]>}
// -----
// expected-error: scratch must not be negative, found -64
func.func private @k() attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 0, scratch = -64>}
// -----
// expected-error: expected one of inputs, outputs, scratch, symbols, in_place, each once; found output
func.func private @k(%x: tensor<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, output = 1>}
// -----
// expected-error: `outputs` is missing
func.func private @k(%x: tensor<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1>}
// -----
// (C7)
// expected-error: bounds of a symbol must be 0 or more, the lower one first, found N in 8 to 4
func.func private @k(%N: index) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 0, symbols = ["N" in 8 to 4]>}
// -----
// expected-error: bounds of a symbol must be 0 or more, the lower one first, found N in -1 to 4
func.func private @k(%N: index) attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 0, symbols = ["N" in -1 to 4]>}
// -----
// (C4)
// expected-error: kernel @k: expected 2 arguments (1 input, 1 symbol), found 1
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
// -----
// expected-error: kernel @k: expected 1 results (1 output), found 2
func.func private @k(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
// -----
// expected-error: kernel @k: expected a tensor as argument 1 (input), found index
func.func private @k(%x: tensor<4xf32>, %N: index, %y: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["N"]>}
// -----
// expected-error: kernel @k: expected index as argument 1 (symbol), found i64
func.func private @k(%x: tensor<4xf32>, %N: i64) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>}
// -----
// expected-error: kernel @k: expected a tensor as result 0 (output), found f32
func.func private @k(%x: tensor<4xf32>) -> f32 attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
// -----
// (C5)
// expected-error: kernel @k: expected 3 arguments (1 input, 1 output, 1 scratch), found 2
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = 64>}
// -----
// expected-error: kernel @k: expected memref<?xi8> as argument 2 (scratch), found memref<64xi8>
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>, %s: memref<64xi8>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, scratch = 64>}
// -----
// expected-error: kernel @k: expected 0 results (none), found 1
func.func private @k(%x: memref<4xf32>) -> f32 attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 0>}
// -----
// expected-error: kernel @k: expected a memref as argument 0 (input), found f32
func.func private @k(%x: f32, %y: memref<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
// -----
// (C6)
// expected-error: kernel @k: expected type !llvm.func<i32 (!llvm.ptr, !llvm.ptr, !llvm.ptr)>, found !llvm.func<i32 (!llvm.ptr)>
llvm.func @k(%args: !llvm.ptr) -> i32 attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
}
// -----
// expected-error: kernel @k: expected `sched.kernel = #sched.kernel<inputs = …, outputs = …>`, found unit
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel}
// -----
// expected-error: unknown attribute sched.kernal: did you mean sched.kernel? the attributes of `sched` are sched.kernel
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernal = #sched.kernel<inputs = 1, outputs = 1>}
// -----
func.func @k(%x: f32) -> f32 {
  // expected-error: sched.exact_division is an attribute of arith.divf, found on arith.mulf
  %y = arith.mulf %x, %x {sched.exact_division} : f32
  func.return %y : f32
}
// -----
func.func @k(%x: f32) -> f32 {
  // expected-error: sched.not_positive must be a unit attribute, found true
  %y = math.exp %x {sched.not_positive = true} : f32
  func.return %y : f32
}
// -----
func.func @k(%x: memref<64xf32>, %zero: f32, %i: index) -> vector<16xf32> {
  // expected-error: sched.prefetch must be a positive number of i64, found 0 : i64
  %v = "vector.transfer_read"(%x, %i, %zero) <{in_bounds = [true], permutation_map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> {sched.prefetch = 0 : i64} : (memref<64xf32>, index, f32) -> vector<16xf32>
  func.return %v : vector<16xf32>
}
// -----
// expected-error: sched.align must be a power of two of i64, found 48 : i64
func.func private @k(%x: memref<64xf32> {sched.align = 48 : i64})
// -----
func.func @k(%x: f32) -> f32 {
  // expected-error: sched.prefetch is an attribute of vector.transfer_read and argument, found on math.exp
  %y = math.exp %x {sched.prefetch = 1 : i64} : f32
  func.return %y : f32
}
// -----
// (C8)
// expected-error: in_place must name an output and an input by number, found 0 over 1
func.func private @k(tensor<4xf32>) -> tensor<4xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, in_place = [0 over 1]>}
