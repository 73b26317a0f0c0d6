// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu="cortex-m4"}' | filecheck %s

// A CPU without f64 divides integers, and fuses f32 alone.
// CHECK-LABEL: llvm.func @quotient
// CHECK-NOT: llvm.sitofp
// CHECK: llvm.sdiv
func.func @quotient(%a: vector<1xi32>, %b: vector<1xi32>) -> vector<1xi32> {
  %q = arith.divsi %a, %b : vector<1xi32>
  func.return %q : vector<1xi32>
}

// CHECK-LABEL: llvm.func @wide
// CHECK: llvm.intr.fmuladd
func.func @wide(%x: f64) -> f64 {
  %p = math.fma %x, %x, %x : f64
  func.return %p : f64
}

// CHECK-LABEL: llvm.func @single
// CHECK: llvm.intr.fma(
func.func @single(%x: f32) -> f32 {
  %p = math.fma %x, %x, %x : f32
  func.return %p : f32
}
