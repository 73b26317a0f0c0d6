// RUN: stepwell-opt %s -p convert-loops-to-llvm --split-input-file --verify-diagnostics

func.func @dimensions(%m: memref<4x16xf32>, %i: index) {
  // expected-error: vector<4x16xf32> has no machine register
  %v = vector.load %m[%i, %i] : memref<4x16xf32>, vector<4x16xf32>
  vector.store %v, %m[%i, %i] : memref<4x16xf32>, vector<4x16xf32>
  func.return
}
// -----
func.func @apart(%m: memref<64x64xf32>, %i: index) {
  %v = memref.subview %m[0, 0] [64, 16] [1, 4] : memref<64x64xf32> to memref<64x16xf32, strided<[64, 4]>>
  // expected-error: vector.load needs lanes that are consecutive in memory
  %x = vector.load %v[%i, %i] : memref<64x16xf32, strided<[64, 4]>>, vector<16xf32>
  vector.store %x, %m[%i, %i] : memref<64x64xf32>, vector<16xf32>
  func.return
}
// -----
func.func @across(%m: memref<64x64xf32>, %i: index) {
  %pad = arith.constant 0.0 : f32
  // expected-error: lanes must run along the last dimension of the memref
  %x = vector.transfer_read %m[%i, %i], %pad {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<64x64xf32>, vector<16xf32>
  vector.store %x, %m[%i, %i] : memref<64x64xf32>, vector<16xf32>
  func.return
}
// -----
func.func @transcendental(%v: vector<16xf32>) -> vector<16xf32> {
  // expected-error: math.exp of vector<16xf32> has no instruction
  %x = math.exp %v : vector<16xf32>
  func.return %x : vector<16xf32>
}
// -----
func.func @carried(%m: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error: scf.for passes on a memref
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %m) -> (memref<4xf32>) {
    scf.yield %a : memref<4xf32>
  }
  func.return
}
// -----
func.func @reduces(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error: scf.parallel that reduces to a value
  %r = "scf.parallel"(%c0, %n, %c1, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }) : (index, index, index, f32) -> f32
  func.return %r : f32
}
// -----
func.func @leftover() {
  // expected-error: no conversion for tensor.empty
  %t = tensor.empty() : tensor<4xf32>
  func.return
}
// -----
func.func @scale(%x: vector<5xf32>, %n: vector<5xf32>) -> vector<5xf32> {
  // expected-error: the target has no instruction for arith.scale of vector<5xf32>
  %r = arith.scale %x, %n : vector<5xf32>
  func.return %r : vector<5xf32>
}
