// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu="x86-64-v4"}' | filecheck %s

// All lanes (mask -1), rounded as the control register says (4), which only the widest form is told.
// CHECK-LABEL: @wide
// CHECK-DAG: %[[ALL:.*]] = llvm.mlir.constant(-1 : i16) : i16
// CHECK-DAG: %[[ROUNDING:.*]] = llvm.mlir.constant(4 : i32) : i32
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %{{.*}}, %{{.*}}, %[[ALL]], %[[ROUNDING]])
func.func @wide(%x: vector<16xf32>, %n: vector<16xf32>) -> vector<16xf32> {
  %r = arith.scale %x, %n : vector<16xf32>
  func.return %r : vector<16xf32>
}

// CHECK-LABEL: @narrow
// CHECK: %[[ALL:.*]] = llvm.mlir.constant(-1 : i8) : i8
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.128"(%{{.*}}, %{{.*}}, %{{.*}}, %[[ALL]])
func.func @narrow(%x: vector<4xf32>, %n: vector<4xf32>) -> vector<4xf32> {
  %r = arith.scale %x, %n : vector<4xf32>
  func.return %r : vector<4xf32>
}

// A scalar is the first lane of the shortest vector.
// CHECK-LABEL: @scalar
// CHECK: %[[X:.*]] = llvm.insertelement %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: %[[N:.*]] = llvm.insertelement %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.128"(%[[X]], %[[N]], %[[X]], %{{.*}})
// CHECK: llvm.extractelement %[[R]]
func.func @scalar(%x: f32, %n: f32) -> f32 {
  %r = arith.scale %x, %n : f32
  func.return %r : f32
}

// CHECK-LABEL: @one_lane
// CHECK: llvm.extractelement %{{.*}} : vector<1xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.128"
// CHECK: llvm.insertelement %{{.*}} : vector<1xf32>
func.func @one_lane(%x: vector<1xf32>, %n: vector<1xf32>) -> vector<1xf32> {
  %r = arith.scale %x, %n : vector<1xf32>
  func.return %r : vector<1xf32>
}
