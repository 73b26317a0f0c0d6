// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

llvm.func @fcmp_predicate(%x: f32) {
  // expected-error: expected one of _false, oeq
  %0 = llvm.fcmp "less" %x, %x : f32
  llvm.return
}
// -----
llvm.func @fcmp_shape(%x: vector<4xf32>) {
  // expected-error: result must be vector<4xi1>, found i1
  %0 = "llvm.fcmp"(%x, %x) <{predicate = 1 : i64}> : (vector<4xf32>, vector<4xf32>) -> i1
  llvm.return
}
// -----
llvm.func @atomic_kind(%p: !llvm.ptr, %n: i64) {
  // expected-error: bin_op must be one of xchg, add
  %0 = llvm.atomicrmw "mul" "seq_cst" %p, %n : !llvm.ptr, i64
  llvm.return
}
// -----
llvm.func @atomic_ordering(%p: !llvm.ptr, %n: i64) {
  // expected-error: ordering must be one of monotonic, acquire
  %0 = llvm.atomicrmw "add" "relaxed" %p, %n : !llvm.ptr, i64
  llvm.return
}
// -----
llvm.func @switch_cases(%i: i32) {
  // expected-error: expected one value, one block and one segment for each case
  "llvm.switch"(%i) [^d, ^d] <{case_values = dense<[1, 2]> : vector<2xi32>, case_segments = array<i32: 0>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^d:
  llvm.return
}
// -----
llvm.func @switch_segments(%i: i32) {
  // expected-error: case_segments must add up to the number of case arguments
  "llvm.switch"(%i) [^d, ^d] <{case_values = dense<1> : vector<1xi32>, case_segments = array<i32: 1>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^d:
  llvm.return
}
// -----
func.func @masked_load(%p: !llvm.ptr, %m: vector<4xi1>, %u: vector<4xf32>) -> vector<4xf32> {
  // expected-error: Expected attribute i32 but got i64
  %0 = llvm.intr.masked.load(%p, %m, %u) {alignment = 4 : i64} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  func.return %0 : vector<4xf32>
}
