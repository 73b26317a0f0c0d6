// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu="x86-64-v4"}' | filecheck %s

// CHECK-LABEL: @memory
// CHECK: %[[P:.*]] = llvm.getelementptr inbounds %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: %[[A:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: llvm.store %[[A]], %{{.*}} {alignment = 64 : i64} : vector<16xf32>, !llvm.ptr
// CHECK: llvm.intr.masked.load(%{{.*}}, %mask, %{{.*}}) {alignment = 4 : i32}
// CHECK: llvm.intr.masked.store %{{.*}}, %{{.*}}, %mask {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
// CHECK: %[[BYTES:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK: llvm.icmp "ne" %[[BYTES]], %{{.*}} : vector<16xi8>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<4xf32>
func.func @memory(%m: memref<64xf32>, %o: memref<64xf32> {sched.align = 64 : i64}, %b: memref<64xi1>, %mask: vector<16xi1>, %i: index) {
  %c16 = arith.constant 16 : index
  %a = vector.load %m[%i] : memref<64xf32>, vector<16xf32>
  vector.store %a, %o[%c16] : memref<64xf32>, vector<16xf32>
  %c = vector.maskedload %m[%i], %mask, %a : memref<64xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  vector.maskedstore %m[%i], %mask, %c : memref<64xf32>, vector<16xi1>, vector<16xf32>
  %d = vector.load %b[%i] : memref<64xi1>, vector<16xi1>
  vector.store %d, %b[%i] : memref<64xi1>, vector<16xi1>
  %w = vector.load %m[%i] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
  vector.store %w, %m[%i] {alignment = 8 : i64} : memref<64xf32>, vector<4xf32>
  vector.store %w, %m[%i] {alignment = 12 : i64} : memref<64xf32>, vector<4xf32>
  func.return
}

// LLVM cannot load or store 9, 17, 25, ... lanes of bf16 for processors that compute it.
// CHECK-LABEL: @odd_lanes
// CHECK: %[[V:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<25xi16>
// CHECK: llvm.bitcast %[[V]] : vector<25xi16> to vector<25xbf16>
// CHECK: llvm.select %{{.*}}, %{{.*}}, %{{.*}} : vector<25xi1>, vector<25xi16>
// CHECK: llvm.store %{{.*}} : vector<25xi16>, !llvm.ptr
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<24xbf16>
func.func @odd_lanes(%m: memref<64xbf16>, %o: memref<64xbf16>, %mask: vector<25xi1>, %x: vector<25xbf16>, %i: index) {
  %a = vector.load %m[%i] : memref<64xbf16>, vector<25xbf16>
  %s = arith.select %mask, %a, %x : vector<25xi1>, vector<25xbf16>
  vector.store %s, %o[%i] : memref<64xbf16>, vector<25xbf16>
  %b = vector.load %m[%i] : memref<64xbf16>, vector<24xbf16>
  vector.store %b, %o[%i] : memref<64xbf16>, vector<24xbf16>
  func.return
}

// A transfer that may leave the memref is masked; one that reads a single element is a broadcast.
// CHECK-LABEL: @transfer
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[LEFT:.*]] = llvm.sub %{{.*}}, %j : i64
// CHECK: llvm.intr.smin
// CHECK: %[[INSIDE:.*]] = llvm.icmp "slt" %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: llvm.intr.masked.load(%{{.*}}, %[[INSIDE]], %{{.*}})
// CHECK: %[[ONE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: %[[FIRST:.*]] = llvm.insertelement %[[ONE]], %{{.*}} : vector<16xf32>
// CHECK: llvm.shufflevector %[[FIRST]], %{{.*}} [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] : vector<16xf32>
func.func @transfer(%t: memref<8x20xf32>, %j: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %a = vector.transfer_read %t[%c0, %j], %pad {in_bounds = [true]} : memref<8x20xf32>, vector<16xf32>
  %b = vector.transfer_read %t[%c0, %j], %pad : memref<8x20xf32>, vector<16xf32>
  %c = vector.transfer_read %t[%c0, %j], %pad {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (0)>} : memref<8x20xf32>, vector<16xf32>
  %d = arith.addf %a, %b : vector<16xf32>
  %e = arith.addf %c, %d : vector<16xf32>
  func.return %e : vector<16xf32>
}

// CHECK-LABEL: @registers
// CHECK: llvm.intr.fma(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.extractelement %{{.*}}[%{{.*}} : i64] : vector<4xf32>
// CHECK: llvm.insertelement %{{.*}}, %v[%k : i64] : vector<4xf32>
// CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 4, 1, 5] : vector<4xf32>
// CHECK: llvm.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: llvm.intr.vector.reduce.umax(%{{.*}}) : (vector<4xi32>) -> i32
// CHECK: llvm.intr.vector.reduce.fadd{{.*}}reassoc
// CHECK: llvm.intr.vector.reduce.fmaximum(%{{.*}}) {fastmathFlags = #llvm.fastmath<nsz>}
// CHECK: llvm.intr.vector.reduce.fmaximum(%{{.*}}) {fastmathFlags = #llvm.fastmath<nnan,nsz>}
// CHECK: llvm.icmp "slt" %{{.*}}, %{{.*}} : vector<4xi32>
func.func @registers(%v: vector<4xf32>, %k: index) -> (f32) {
  %c3 = arith.constant 3 : index
  %a = vector.fma %v, %v, %v : vector<4xf32>
  %x = vector.extract %a[3] : f32 from vector<4xf32>
  %b = vector.insert %x, %v [%k] : f32 into vector<4xf32>
  %c = vector.shuffle %a, %b [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
  %d = vector.bitcast %c : vector<4xf32> to vector<4xi32>
  %e = vector.reduction <maxui>, %d : vector<4xi32> into i32
  %f = vector.reduction <add>, %c, %x : vector<4xf32> into f32
  %g = vector.reduction <maximumf>, %c : vector<4xf32> into f32
  %n = vector.reduction <maximumf>, %c fastmath<nnan> : vector<4xf32> into f32
  %m = vector.create_mask %k : vector<4xi1>
  %h = arith.select %m, %c, %a : vector<4xi1>, vector<4xf32>
  %i = vector.reduction <mul>, %h : vector<4xf32> into f32
  %j = arith.sitofp %e : i32 to f32
  %s = arith.addf %f, %g : f32
  %t = arith.addf %s, %i : f32
  %o = arith.addf %t, %n : f32
  %u = arith.addf %o, %j : f32
  func.return %u : f32
}

// An aligned buffer is not aligned at its second element, nor at every fourth one for 64 bytes.
// CHECK-LABEL: @offsets
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.load %{{.*}} {alignment = 64 : i64} : !llvm.ptr -> vector<4xf32>
func.func @offsets(%m: memref<64xf32> {sched.align = 64 : i64}) -> vector<4xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %a = vector.load %m[%c1] : memref<64xf32>, vector<4xf32>
  %b = vector.load %m[%c4] : memref<64xf32>, vector<4xf32>
  %s = arith.addf %a, %b : vector<4xf32>
  vector.store %s, %m[%c2] : memref<64xf32>, vector<4xf32>
  %c = vector.load %m[%c32] : memref<64xf32>, vector<4xf32>
  func.return %c : vector<4xf32>
}

// LLVM does not take odd numbers of bf16 lanes apart either, compare them or pass them between blocks: lanes are i16, numbers f32 by a shift.
// CHECK-LABEL: @odd_lanes_elsewhere
// CHECK: %[[B:.*]] = llvm.bitcast %{{.*}} : vector<9xbf16> to vector<9xi16>
// CHECK: %[[L:.*]] = llvm.extractelement %[[B]][%{{.*}}] : vector<9xi16>
// CHECK: llvm.bitcast %[[L]] : i16 to bf16
// CHECK: llvm.insertelement %{{.*}}, %{{.*}} : vector<9xi16>
// CHECK: llvm.zext %{{.*}} : vector<9xi16> to vector<9xi32>
// CHECK: llvm.extractelement %{{.*}}[%{{.*}} : i64] : vector<9xf32>
// CHECK: llvm.zext %{{.*}} : vector<9xi16> to vector<9xi32>
// CHECK-NOT: llvm.fpext
// CHECK: llvm.fcmp "olt" {{.*}} : vector<9xf32>
// CHECK: ^bb1(%{{.*}}: i64, %[[C:.*]]: vector<9xi16>):
// CHECK: llvm.bitcast %[[C]] : vector<9xi16> to vector<9xbf16>
func.func @odd_lanes_elsewhere(%x: vector<9xbf16>, %m: memref<64xbf16>, %i: index) {
  %a = vector.extract %x[3] : bf16 from vector<9xbf16>
  %y = vector.insert %a, %x [8] : bf16 into vector<9xbf16>
  %b = vector.extract %y[%i] : bf16 from vector<9xbf16>
  memref.store %b, %m[%i] : memref<64xbf16>
  %zero = arith.constant dense<0.0> : vector<9xbf16>
  %c = arith.cmpf olt, %y, %zero : vector<9xbf16>
  %s = arith.select %c, %zero, %y : vector<9xi1>, vector<9xbf16>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %r = scf.for %k = %0 to %i step %1 iter_args(%v = %s) -> (vector<9xbf16>) {
    %w = arith.addf %v, %y : vector<9xbf16>
    scf.yield %w : vector<9xbf16>
  }
  vector.store %r, %m[%i] : memref<64xbf16>, vector<9xbf16>
  func.return
}

// Elements of a slice with steps are no neighbours.
// CHECK-LABEL: @steps
// CHECK: %[[A:.*]] = llvm.load %[[P:.*]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: %[[U:.*]] = llvm.insertelement %[[A]], %{{.*}}[%{{.*}}] : vector<2xf32>
// CHECK: %[[Q:.*]] = llvm.getelementptr inbounds %[[P]][2]
// CHECK: %[[B:.*]] = llvm.load %[[Q]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.insertelement %[[B]], %[[U]]
func.func @steps(%x: memref<9xf32>, %i: index) -> vector<2xf32> {
  %zero = arith.constant 0.0 : f32
  %odd = memref.subview %x[1] [4] [2] : memref<9xf32> to memref<4xf32, strided<[2], offset: 1>>
  %v = vector.transfer_read %odd[%i], %zero {in_bounds = [true]} : memref<4xf32, strided<[2], offset: 1>>, vector<2xf32>
  func.return %v : vector<2xf32>
}
