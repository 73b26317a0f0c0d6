// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu="x86-64-v2"}' | filecheck %s

// CHECK-LABEL: @integers
// CHECK: llvm.ashr %i, %{{.*}} : i64
// CHECK: llvm.sdiv %{{.*}}, %j : i64
// CHECK: llvm.intr.smax(%{{.*}}, %{{.*}}) : (i64, i64) -> i64
// CHECK: llvm.icmp "ult" %i, %j : i64
// CHECK: llvm.select %{{.*}}, %{{.*}}, %{{.*}} : i1, i64
func.func @integers(%i: index, %j: index) -> index {
  %c16 = arith.constant 16 : index
  %a = arith.floordivsi %i, %c16 : index
  %b = arith.ceildivsi %i, %j : index
  %c = arith.maxsi %a, %b : index
  %d = arith.cmpi ult, %i, %j : index
  %e = arith.select %d, %c, %a : index
  func.return %e : index
}

// Floats that do not fit an integer saturate; the target has no fused multiply-add.
// CHECK-LABEL: @floats
// CHECK: llvm.fmul %x, %y {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK: llvm.intr.maximum(%{{.*}}, %y) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
// CHECK: llvm.intr.fmuladd(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
// CHECK: llvm.intr.roundeven
// CHECK: llvm.intr.fptosi.sat(%{{.*}}) : (f32) -> i8
func.func @floats(%x: f32, %y: f32) -> i8 {
  %a = arith.mulf %x, %y fastmath<contract> : f32
  %b = arith.maximumf %a, %y : f32
  %c = math.fma %a, %b, %x : f32
  %d = math.roundeven %c : f32
  %e = arith.fptosi %d : f32 to i8
  func.return %e : i8
}

// A vector is converted where it fits: NaN is 0, the rest the nearest bound.
// CHECK-LABEL: llvm.func @to_integers
// CHECK-NOT: llvm.intr.fptosi.sat
// CHECK: %[[IS_NUMBER:.*]] = llvm.fcmp "ord" %[[X:.*]], %{{.*}} : vector<4xf32>
// CHECK: llvm.select %[[IS_NUMBER]], %[[X]]
// CHECK: llvm.fcmp "ogt"
// CHECK: %[[OVER:.*]] = llvm.fcmp "oge"
// CHECK: %[[FITS:.*]] = llvm.select %[[OVER]], %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK: %[[I:.*]] = llvm.fptosi %[[FITS]] : vector<4xf32> to vector<4xi32>
// CHECK: llvm.select %[[OVER]], %{{.*}}, %[[I]] : vector<4xi1>, vector<4xi32>
func.func @to_integers(%x: vector<4xf32>) -> vector<4xi32> {
  %i = arith.fptosi %x : vector<4xf32> to vector<4xi32>
  func.return %i : vector<4xi32>
}

// bf16 is computed in f32 and rounded by integer instructions, and so is f16 without the target's help.
// CHECK-LABEL: @halves
// CHECK: %[[WIDE:.*]] = llvm.fpext %h : bf16 to f32
// CHECK: llvm.fadd %[[WIDE]], %{{.*}} : f32
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.bitcast %{{.*}} : i16 to bf16
// CHECK-NOT: llvm.fpext
// CHECK: llvm.bitcast %g : f16 to i16
func.func @halves(%h: bf16, %g: f16) -> f32 {
  %a = arith.addf %h, %h : bf16
  %b = arith.extf %g : f16 to f32
  %c = arith.extf %a : bf16 to f32
  %d = arith.addf %b, %c : f32
  func.return %d : f32
}

// What is left to the C library is declared once.
// CHECK: llvm.func @sinf(f32) -> f32
// CHECK-NOT: llvm.func @sinf
// CHECK-LABEL: @library
// CHECK: llvm.call @sinf(%{{.*}}) : (f32) -> f32
// CHECK: llvm.call @exp(%{{.*}}) : (f64) -> f64
func.func @library(%p: f32, %q: f64) -> f64 {
  %a = math.sin %p : f32
  %b = math.sin %a : f32
  %c = arith.extf %b : f32 to f64
  %d = math.exp %c : f64
  func.return %d : f64
}
