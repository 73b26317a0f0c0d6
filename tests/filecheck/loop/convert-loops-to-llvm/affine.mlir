// RUN: stepwell-opt %s -p convert-loops-to-llvm | filecheck %s

// CHECK-LABEL: @apply
// CHECK: %[[QUOTIENT:.*]] = llvm.ashr %i, %{{.*}} : i64
// CHECK: %[[REST:.*]] = llvm.and %i, %{{.*}} : i64
// CHECK: llvm.mul %[[REST]], %{{.*}} : i64
// CHECK: llvm.intr.smin(%{{.*}}, %j) : (i64, i64) -> i64
func.func @apply(%i: index, %j: index) -> index {
  %a = affine.apply affine_map<(d0)[s0] -> (d0 floordiv 8 + (d0 mod 8) * 3 + s0)> (%i)[%j]
  %b = affine.min affine_map<(d0, d1) -> (d0 + 5, d1)> (%a, %j)
  func.return %b : index
}

// CHECK-LABEL: @loop
// CHECK: %[[END:.*]] = llvm.intr.smin(%n, %{{.*}}) : (i64, i64) -> i64
// CHECK: ^{{.*}}(%k: i64, %sum: f32):
// CHECK: %[[P:.*]] = llvm.getelementptr inbounds %m[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: %[[Q:.*]] = llvm.getelementptr inbounds %[[P]][1] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: llvm.load %[[Q]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.store %{{.*}}, %[[P]] {alignment = 4 : i64} : f32, !llvm.ptr
func.func @loop(%m: memref<16xf32>, %n: index, %init: f32) -> f32 {
  %r = affine.for %k = 0 to min affine_map<(d0) -> (d0, 8)>(%n) step 2 iter_args(%sum = %init) -> (f32) {
    %x = affine.load %m[%k + 1] : memref<16xf32>
    %s = arith.addf %sum, %x : f32
    affine.store %s, %m[%k] : memref<16xf32>
    affine.yield %s : f32
  }
  func.return %r : f32
}
