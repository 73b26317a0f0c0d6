// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu="x86-64-v4"}' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu="x86-64-v3"}' | filecheck %s --check-prefix V3

// Without VNNI even and odd bytes become 16 bits: products of bytes would saturate.
// CHECK-LABEL: @vector
// CHECK: %[[LOW:.*]] = llvm.and %a, %{{.*}} : vector<16xi32>
// CHECK: llvm.lshr %a
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// V3-LABEL: @vector
// V3-NOT: llvm.call_intrinsic
func.func @vector(%a: vector<16xi32>, %b: vector<16xi32>, %c: vector<16xi32>) -> vector<16xi32> {
  %r = arith.dot_bytes %a, %b, %c : vector<16xi32>
  func.return %r : vector<16xi32>
}

// CHECK-LABEL: @half
// V3-LABEL: @half
// V3: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}, %{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
func.func @half(%a: vector<8xi32>, %b: vector<8xi32>, %c: vector<8xi32>) -> vector<8xi32> {
  %r = arith.dot_bytes %a, %b, %c : vector<8xi32>
  func.return %r : vector<8xi32>
}

// Ten lanes are the first ones of a vector that the machine has.
// CHECK-LABEL: @part
// CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10, 10] : vector<10xi32>
// CHECK: llvm.add {{.*}} : vector<16xi32>
// CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] : vector<16xi32>
func.func @part(%a: vector<10xi32>, %b: vector<10xi32>, %c: vector<10xi32>) -> vector<10xi32> {
  %r = arith.dot_bytes %a, %b, %c : vector<10xi32>
  func.return %r : vector<10xi32>
}

// One word: byte by byte.
// CHECK-LABEL: @scalar
// CHECK-COUNT-4: llvm.mul
func.func @scalar(%a: i32, %b: i32, %c: i32) -> i32 {
  %r = arith.dot_bytes %a, %b, %c : i32
  func.return %r : i32
}

// Two products of 16 bits in each lane; of one word, each half by itself.
// V3-LABEL: @shorts
// V3: %[[P:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// V3: llvm.add %c{{.*}}, %[[P]] : vector<8xi32>
func.func @shorts(%a: vector<8xi32>, %b: vector<8xi32>, %c: vector<8xi32>) -> vector<8xi32> {
  %r = arith.dot_shorts %a, %b, %c : vector<8xi32>
  func.return %r : vector<8xi32>
}

// V3-LABEL: @short
// V3: llvm.ashr
// V3: llvm.mul
func.func @short(%a: i32, %b: i32, %c: i32) -> i32 {
  %r = arith.dot_shorts %a, %b, %c : i32
  func.return %r : i32
}

// Sums in both halves of a lane: where there is an instruction, else even and odd bytes in 16 bits.
// CHECK-LABEL: @pairs
// CHECK: llvm.mul {{.*}} : vector<24xi16>
// CHECK: llvm.mul {{.*}} : vector<24xi16>
// V3-LABEL: @pairs
// V3: llvm.mul
func.func @pairs(%a: vector<12xi32>, %b: vector<12xi32>, %c: vector<12xi32>) -> vector<12xi32> {
  %r = arith.dot_pairs %a, %b, %c : vector<12xi32>
  func.return %r : vector<12xi32>
}

// V3-LABEL: @eight_pairs
// V3: %[[P:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%{{.*}}, %{{.*}}) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
// V3: llvm.add %{{.*}}, %[[P]] : vector<16xi16>
func.func @eight_pairs(%a: vector<8xi32>, %b: vector<8xi32>, %c: vector<8xi32>) -> vector<8xi32> {
  %r = arith.dot_pairs %a, %b, %c : vector<8xi32>
  func.return %r : vector<8xi32>
}

// Two products of bf16: without their instruction in f32, which has them exactly; upper halves first.
// CHECK-LABEL: @bfloats
// CHECK-SAME: (%[[A:.*]]: vector<16xi32>, %{{.*}}: vector<16xi32>, %[[C:.*]]: vector<16xf32>)
// CHECK-NOT: llvm.call_intrinsic
// CHECK: %[[L:.*]] = llvm.shl %[[A]], %{{.*}} : vector<16xi32>
// CHECK: %[[H:.*]] = llvm.and %[[A]], %{{.*}} : vector<16xi32>
// CHECK: llvm.bitcast %[[H]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[SUM:.*]] = llvm.fadd %[[C]], %{{.*}} : vector<16xf32>
// CHECK: llvm.bitcast %[[L]] : vector<16xi32> to vector<16xf32>
// CHECK: llvm.fadd %[[SUM]], %{{.*}} : vector<16xf32>
func.func @bfloats(%a: vector<16xi32>, %b: vector<16xi32>, %c: vector<16xf32>) -> vector<16xf32> {
  %r = arith.dot_bfloats %a, %b, %c : vector<16xi32>, vector<16xf32>
  func.return %r : vector<16xf32>
}

// Rounded to bf16 by integer arithmetic where no instruction does.
// CHECK-LABEL: @rounded
// CHECK-NOT: llvm.call_intrinsic
// CHECK: llvm.add
// CHECK: %[[T:.*]] = llvm.trunc %{{.*}} : vector<16xi32> to vector<16xi16>
// CHECK: %[[B:.*]] = llvm.bitcast %[[T]] : vector<16xi16> to vector<16xbf16>
// CHECK: llvm.bitcast %[[B]] : vector<16xbf16> to vector<8xi32>
func.func @rounded(%a: vector<16xf32>) -> vector<8xi32> {
  %r = arith.pack_bfloats %a : vector<16xf32> -> vector<8xi32>
  func.return %r : vector<8xi32>
}

// CHECK-LABEL: @paired
// CHECK-NOT: llvm.call_intrinsic
// CHECK: %[[H:.*]] = llvm.zext %{{.*}} : vector<16xi16> to vector<16xi32>
// CHECK: llvm.shl
// CHECK: llvm.or
func.func @paired(%a: vector<16xf32>, %b: vector<16xf32>) -> vector<16xi32> {
  %r = arith.pair_bfloats %a, %b : vector<16xf32> -> vector<16xi32>
  func.return %r : vector<16xi32>
}
