// RUN: stepwell-opt %s -p 'convert-linalg-to-amx{mcpu=sapphirerapids}' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-linalg-to-amx{mcpu=x86-64-v4}' | filecheck %s --check-prefix NONE
// RUN: stepwell-opt %s -p 'convert-linalg-to-amx{mcpu=sapphirerapids}' --remarks 2>&1 | filecheck %s --check-prefix REMARK

// NONE-NOT: amx.
// REMARK: remark: not for tile registers: these products of bytes are added one by one
// REMARK-NEXT: convert-linalg-to-amx.mlir
// REMARK-NOT: remark:
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Two by two tiles: each operand is read once a step. The zeros of the fill become zeros of tiles.
// CHECK-LABEL: @whole
// CHECK-NOT: linalg.
// CHECK: amx.configure rows [16, 16, 16, 16, 16, 16, 16, 16] words [16, 16, 16, 16, 16, 16, 16, 16]
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %c64 step %c16
// CHECK-NEXT: amx.tile_load 4, %a[%c0, %[[K]]] along 0 step 1
// CHECK-NEXT: amx.tile_load 6, %b[%[[K]], %c0] along 0 step 1
// CHECK-NEXT: amx.tile_muli 0, 4, 6
// CHECK-NEXT: amx.tile_load 7, %b[%[[K]], %c16] along 0 step 1
// CHECK-NEXT: amx.tile_muli 1, 4, 7
// CHECK-NEXT: amx.tile_load 5, %a[%c16, %[[K]]] along 0 step 1
// CHECK-NEXT: amx.tile_muli 3, 5, 7
// CHECK-NEXT: amx.tile_muli 2, 5, 6
// CHECK-COUNT-4: amx.tile_store
func.func @whole(%a: memref<32x64xi32>, %b: memref<64x32xi32>, %c: memref<32x32xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<32x32xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<32x64xi32>, memref<64x32xi32>) outs(%c : memref<32x32xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// What is left of rows is a block of its own, what is left of the sum takes tiles of its own.
// CHECK-LABEL: @rest
// CHECK: amx.configure rows [16, 0, 0, 0, 16, 16, 16, 4] words [8, 0, 0, 0, 16, 8, 4, 8]
// CHECK: amx.tile_load 0, %c[%c0, %c0]
// CHECK: amx.tile_muli 0, 4, 5
// CHECK: amx.tile_muli 0, 6, 7
// CHECK: amx.configure rows [2, 0, 0, 0, 2, 16, 2, 4] words [8, 0, 0, 0, 16, 8, 4, 8]
// CHECK: amx.tile_load 4, %a[%c16, %c0]
func.func @rest(%a: memref<18x20xi32>, %b: memref<20x8xi32>, %c: memref<18x8xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<18x20xi32>, memref<20x8xi32>) outs(%c : memref<18x8xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// A window of two pixels, every other one: rows of a tile lie two pixels apart, the window is a loop.
// CHECK-LABEL: @window
// CHECK: scf.for %[[W:.*]] = %c0 to %c2 step %c1
// CHECK: amx.tile_load 4, %x[%[[W]], %c0] along 0 step 2 : memref<32x16xi32>
// CHECK: amx.tile_load 6, %f[%[[W]], %c0, %c0] along 1 step 1
func.func @window(%x: memref<32x16xi32>, %f: memref<2x16x16xi32>, %c: memref<16x16xi32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, w, k) -> (m * 2 + w, k)>, affine_map<(m, n, w, k) -> (w, k, n)>, affine_map<(m, n, w, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %f : memref<32x16xi32>, memref<2x16x16xi32>) outs(%c : memref<16x16xi32>) {
  ^bb0(%u: i32, %s: i32, %acc: i32):
    %r = arith.dot_bytes %u, %s, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// Columns that do not lie side by side, and sums of other products, stay.
// CHECK-LABEL: @turned
// CHECK-NOT: amx.
// CHECK: linalg.generic
func.func @turned(%a: memref<32x64xi32>, %b: memref<32x64xi32>, %c: memref<32x32xi32>) {
  linalg.generic {indexing_maps = [#a, affine_map<(m, n, k) -> (n, k)>, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<32x64xi32>, memref<32x64xi32>) outs(%c : memref<32x32xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// CHECK-LABEL: @words
// CHECK-NOT: amx.
// CHECK: linalg.generic
func.func @words(%a: memref<32x64xi32>, %b: memref<64x32xi32>, %c: memref<32x32xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<32x64xi32>, memref<64x32xi32>) outs(%c : memref<32x32xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %p = arith.muli %x, %y : i32
    %r = arith.addi %p, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// Zeros of another buffer are not those of the sums, which are read.
// CHECK-LABEL: @other_fill
// CHECK: linalg.fill {{.*}} outs(%d : memref<16x16xi32>)
// CHECK: amx.tile_load 0, %c
func.func @other_fill(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %c: memref<16x16xi32>, %d: memref<16x16xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%d : memref<16x16xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<16x16xi32>, memref<16x16xi32>) outs(%c : memref<16x16xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}
