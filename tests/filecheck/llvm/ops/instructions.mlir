// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: llvm.func @vectors
llvm.func @vectors(%v: vector<16xf32>, %m: vector<16xi1>, %i: i64, %x: f32) {
  // CHECK: llvm.extractelement %v[%i : i64] : vector<16xf32>
  %e = llvm.extractelement %v[%i : i64] : vector<16xf32>
  // CHECK: llvm.fcmp "ult" %v, %v : vector<16xf32>
  %c = llvm.fcmp "ult" %v, %v : vector<16xf32>
  // CHECK: llvm.fcmp "oeq" %x, %e {fastmathFlags = #llvm.fastmath<nnan>} : f32
  %d = llvm.fcmp "oeq" %x, %e {fastmathFlags = #llvm.fastmath<nnan>} : f32
  // CHECK: llvm.select %c, %v, %v : vector<16xi1>, vector<16xf32>
  %s = llvm.select %c, %v, %v : vector<16xi1>, vector<16xf32>
  // CHECK: llvm.select %d, %v, %s : i1, vector<16xf32>
  %t = llvm.select %d, %v, %s : i1, vector<16xf32>
  // CHECK: llvm.mlir.zero : vector<16xf32>
  %zz = llvm.mlir.zero : vector<16xf32>
  // CHECK: llvm.mlir.poison : vector<16xf32>
  %p = llvm.mlir.poison : vector<16xf32>
  llvm.return
}

// CHECK-LABEL: llvm.func @scalars
llvm.func @scalars(%y: f32, %k: i32, %q: !llvm.ptr, %n: i64) {
  // CHECK: llvm.fptosi %y : f32 to i32
  %0 = llvm.fptosi %y : f32 to i32
  // CHECK: llvm.fptoui %y : f32 to i8
  %1 = llvm.fptoui %y : f32 to i8
  // CHECK: llvm.uitofp %k : i32 to f32
  %2 = llvm.uitofp %k : i32 to f32
  // CHECK: llvm.freeze %k : i32
  %3 = llvm.freeze %k : i32
  // CHECK: llvm.atomicrmw "add" "seq_cst" %q, %n : !llvm.ptr, i64
  %4 = llvm.atomicrmw "add" "seq_cst" %q, %n : !llvm.ptr, i64
  llvm.return
}

// CHECK-LABEL: llvm.func @branches
llvm.func @branches(%sel: i32, %other: f32) -> f32 {
  // CHECK: "llvm.switch"(%sel, %other, %other) [^{{.*}}, ^{{.*}}, ^{{.*}}]
  // CHECK-SAME: case_segments = array<i32: 0, 1>
  "llvm.switch"(%sel, %other, %other) [^default, ^one, ^default] <{case_values = dense<[1, 7]> : vector<2xi32>, case_segments = array<i32: 0, 1>, operandSegmentSizes = array<i32: 1, 1, 1>}> : (i32, f32, f32) -> ()
^default(%d: f32):
  llvm.return %d : f32
^one:
  llvm.return %other : f32
}
