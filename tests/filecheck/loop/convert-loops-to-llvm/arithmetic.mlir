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

// What does not fit is poison, frozen and replaced: NaN by 0, the rest by the nearest bound.
// CHECK-LABEL: llvm.func @to_integers
// CHECK-NOT: llvm.intr.fptosi.sat
// CHECK: %[[POISON:.*]] = llvm.fptosi %[[X:.*]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: %[[I:.*]] = llvm.freeze %[[POISON]]
// CHECK: %[[OVER:.*]] = llvm.fcmp "oge" %[[X]]
// CHECK: %[[J:.*]] = llvm.select %[[OVER]], %{{.*}}, %[[I]] : vector<4xi1>, vector<4xi32>
// CHECK: %[[UNDER:.*]] = llvm.fcmp "olt" %[[X]]
// CHECK: %[[K:.*]] = llvm.select %[[UNDER]], %{{.*}}, %[[J]]
// CHECK: %[[IS_NUMBER:.*]] = llvm.fcmp "ord" %[[X]], %[[X]]
// CHECK: llvm.select %[[IS_NUMBER]], %[[K]]
func.func @to_integers(%x: vector<4xf32>) -> vector<4xi32> {
  %i = arith.fptosi %x : vector<4xf32> to vector<4xi32>
  func.return %i : vector<4xi32>
}

// Machines divide integers one at a time, and floats as vectors: exact, as f64 has the bits. A division by a
// constant is left to LLVM, which multiplies.
// CHECK-LABEL: llvm.func @divide_vectors
// CHECK: %[[X:.*]] = llvm.sitofp %[[A:.*]] : vector<4xi32> to vector<4xf64>
// CHECK: %[[Y:.*]] = llvm.sitofp %[[B:.*]] : vector<4xi32> to vector<4xf64>
// CHECK: %[[R:.*]] = llvm.fdiv %[[X]], %[[Y]] : vector<4xf64>
// CHECK: %[[Q:.*]] = llvm.fptosi %[[R]] : vector<4xf64> to vector<4xi32>
// CHECK: %[[P:.*]] = llvm.mul %[[Q]], %[[B]]
// CHECK: llvm.sub %[[A]], %[[P]]
// CHECK: llvm.sdiv
func.func @divide_vectors(%a: vector<4xi32>, %b: vector<4xi32>) -> vector<4xi32> {
  %c = arith.constant dense<7> : vector<4xi32>
  %r = arith.remsi %a, %b : vector<4xi32>
  %q = arith.divsi %r, %c : vector<4xi32>
  func.return %q : vector<4xi32>
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
