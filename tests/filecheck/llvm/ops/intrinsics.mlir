// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: llvm.func @floats
llvm.func @floats(%x: f32, %v: vector<16xf32>) {
  // CHECK: llvm.intr.roundeven(%x) : (f32) -> f32
  %0 = llvm.intr.roundeven(%x) : (f32) -> f32
  // CHECK: llvm.intr.round(%x) : (f32) -> f32
  %1 = llvm.intr.round(%x) : (f32) -> f32
  // CHECK: llvm.intr.rint(%v) : (vector<16xf32>) -> vector<16xf32>
  %2 = llvm.intr.rint(%v) : (vector<16xf32>) -> vector<16xf32>
  // CHECK: llvm.intr.trunc(%v) {fastmathFlags = #llvm.fastmath<nnan>} : (vector<16xf32>) -> vector<16xf32>
  %3 = llvm.intr.trunc(%v) {fastmathFlags = #llvm.fastmath<nnan>} : (vector<16xf32>) -> vector<16xf32>
  // CHECK: llvm.intr.maximum(%v, %v) : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  %4 = llvm.intr.maximum(%v, %v) : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  // CHECK: llvm.intr.minimum(%x, %x) : (f32, f32) -> f32
  %5 = llvm.intr.minimum(%x, %x) : (f32, f32) -> f32
  // CHECK: llvm.intr.fmuladd(%x, %x, %x) : (f32, f32, f32) -> f32
  %6 = llvm.intr.fmuladd(%x, %x, %x) : (f32, f32, f32) -> f32
  // CHECK: llvm.intr.fptosi.sat(%x) : (f32) -> i8
  %7 = llvm.intr.fptosi.sat(%x) : (f32) -> i8
  // CHECK: llvm.intr.fptoui.sat(%v) : (vector<16xf32>) -> vector<16xi8>
  %8 = llvm.intr.fptoui.sat(%v) : (vector<16xf32>) -> vector<16xi8>
  llvm.return
}

// CHECK-LABEL: llvm.func @integers
llvm.func @integers(%i: i32, %w: vector<4xi64>) {
  // CHECK: llvm.intr.smax(%i, %i) : (i32, i32) -> i32
  %0 = llvm.intr.smax(%i, %i) : (i32, i32) -> i32
  // CHECK: llvm.intr.umin(%w, %w) : (vector<4xi64>, vector<4xi64>) -> vector<4xi64>
  %1 = llvm.intr.umin(%w, %w) : (vector<4xi64>, vector<4xi64>) -> vector<4xi64>
  // CHECK: llvm.intr.abs(%i) : (i32) -> i32
  %2 = llvm.intr.abs(%i) : (i32) -> i32
  // CHECK: llvm.intr.ctlz(%i) {is_zero_poison = true} : (i32) -> i32
  %3 = llvm.intr.ctlz(%i) {is_zero_poison = true} : (i32) -> i32
  // CHECK: llvm.intr.ctpop(%i) : (i32) -> i32
  %4 = llvm.intr.ctpop(%i) : (i32) -> i32
  // CHECK: llvm.intr.smul.with.overflow(%i, %i) : (i32, i32) -> !llvm.struct<(i32, i1)>
  %9 = llvm.intr.smul.with.overflow(%i, %i) : (i32, i32) -> !llvm.struct<(i32, i1)>
  // CHECK: llvm.intr.sadd.with.overflow(%i, %i) : (i32, i32) -> !llvm.struct<(i32, i1)>
  %10 = llvm.intr.sadd.with.overflow(%i, %i) : (i32, i32) -> !llvm.struct<(i32, i1)>
  // CHECK: llvm.intr.vector.reduce.add(%w) : (vector<4xi64>) -> i64
  %5 = llvm.intr.vector.reduce.add(%w) : (vector<4xi64>) -> i64
  llvm.return
}

// CHECK-LABEL: llvm.func @memory
llvm.func @memory(%p: !llvm.ptr, %ps: vector<4x!llvm.ptr>, %m: vector<4xi1>, %u: vector<4xf32>, %b: i8, %n: i64) {
  // CHECK: llvm.intr.masked.load(%p, %m, %u) {alignment = 4 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  %0 = llvm.intr.masked.load(%p, %m, %u) {alignment = 4 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  // CHECK: llvm.intr.masked.gather(%ps, %m, %u) {alignment = 4 : i32}
  %1 = llvm.intr.masked.gather(%ps, %m, %u) {alignment = 4 : i32} : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  // CHECK: llvm.intr.masked.scatter(%u, %ps, %m) {alignment = 4 : i32}
  llvm.intr.masked.scatter(%u, %ps, %m) {alignment = 4 : i32} : vector<4xf32>, vector<4x!llvm.ptr>, vector<4xi1>
  // CHECK: llvm.intr.memcpy(%p, %p, %n) : !llvm.ptr, !llvm.ptr, i64
  llvm.intr.memcpy(%p, %p, %n) : !llvm.ptr, !llvm.ptr, i64
  // CHECK: llvm.intr.memset(%p, %b, %n) : !llvm.ptr, i8, i64
  llvm.intr.memset(%p, %b, %n) : !llvm.ptr, i8, i64
  // CHECK: llvm.intr.prefetch(%p) {rw = 0 : i32, hint = 3 : i32} : !llvm.ptr
  llvm.intr.prefetch(%p) {rw = 0 : i32, hint = 3 : i32} : !llvm.ptr
  llvm.return
}
