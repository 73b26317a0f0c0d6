// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p 'convert-loops-to-llvm{mcpu=sapphirerapids}' | filecheck %s --check-prefix LLVM

// CHECK-LABEL: @product
// LLVM-LABEL: @product
func.func @product(%a: memref<32x64xi32>, %b: memref<64x32xi32>, %c: memref<32x32xi32>, %k: index) {
  %c0 = arith.constant 0 : index
  // CHECK: amx.configure rows [16, 0, 0, 0, 16, 0, 16, 0] words [8, 0, 0, 0, 16, 0, 8, 0]
  // LLVM: llvm.call_intrinsic "llvm.x86.ldtilecfg"
  amx.configure rows [16, 0, 0, 0, 16, 0, 16, 0] words [8, 0, 0, 0, 16, 0, 8, 0]
  // CHECK: amx.tile_zero 0
  // LLVM: llvm.call_intrinsic "llvm.x86.tilezero"
  amx.tile_zero 0
  // CHECK: amx.tile_load 4, %a[%c0, %k] along 0 step 2 : memref<32x64xi32>
  // LLVM: llvm.mlir.constant(512) : i64
  // LLVM: llvm.call_intrinsic "llvm.x86.tileloadd64"
  amx.tile_load 4, %a[%c0, %k] along 0 step 2 : memref<32x64xi32>
  // LLVM: llvm.call_intrinsic "llvm.x86.tileloadd64"
  amx.tile_load 6, %b[%k, %c0] along 0 step 1 : memref<64x32xi32>
  // CHECK: amx.tile_muli 0, 4, 6
  // LLVM: llvm.call_intrinsic "llvm.x86.tdpbusd"
  amx.tile_muli 0, 4, 6
  // CHECK: amx.tile_store 0, %c[%c0, %c0] along 0 step 1 : memref<32x32xi32>
  // LLVM: llvm.call_intrinsic "llvm.x86.tilestored64"
  amx.tile_store 0, %c[%c0, %c0] along 0 step 1 : memref<32x32xi32>
  // LLVM: llvm.call_intrinsic "llvm.x86.tilerelease"
  // LLVM: llvm.return
  func.return
}
