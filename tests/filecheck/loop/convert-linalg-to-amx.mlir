// RUN: stepwell-opt %s -p 'convert-linalg-to-amx{mcpu=sapphirerapids}' | filecheck %s
// RUN: stepwell-opt %s -p 'convert-linalg-to-amx{mcpu=x86-64-v4}' | filecheck %s --check-prefix NONE
// RUN: stepwell-opt %s -p 'convert-linalg-to-amx{mcpu=sapphirerapids}' --remarks 2>&1 | filecheck %s --check-prefix REMARK

// NONE-NOT: amx.
// REMARK-COUNT-3: remark: not for tile registers: these products of bytes are added one by one
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

// Sums that start from another number than zero, of another buffer, or after something may have changed them, are loaded.
// CHECK-LABEL: @from_one
// CHECK: linalg.fill
// CHECK: amx.tile_load 0, %c[%c0, %c0]
// CHECK-NOT: amx.tile_zero
func.func @from_one(%a: memref<2x16xi32>, %b: memref<16x4xi32>, %c: memref<2x4xi32>) {
  %one = arith.constant 1 : i32
  linalg.fill ins(%one : i32) outs(%c : memref<2x4xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<2x16xi32>, memref<16x4xi32>) outs(%c : memref<2x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// CHECK-LABEL: @from_argument
// CHECK: linalg.fill
// CHECK: amx.tile_load 0, %c[%c0, %c0]
// CHECK-NOT: amx.tile_zero
func.func @from_argument(%a: memref<2x16xi32>, %b: memref<16x4xi32>, %c: memref<2x4xi32>, %s: i32) {
  linalg.fill ins(%s : i32) outs(%c : memref<2x4xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<2x16xi32>, memref<16x4xi32>) outs(%c : memref<2x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// CHECK-LABEL: @other_buffer
// CHECK: linalg.fill
// CHECK: amx.tile_load 0, %c[%c0, %c0]
// CHECK-NOT: amx.tile_zero
func.func @other_buffer(%a: memref<2x16xi32>, %b: memref<16x4xi32>, %c: memref<2x4xi32>, %d: memref<2x4xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%d : memref<2x4xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<2x16xi32>, memref<16x4xi32>) outs(%c : memref<2x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// CHECK-LABEL: @changed_since
// CHECK: linalg.fill
// CHECK: amx.tile_load 0, %c[%c0, %c0]
// CHECK-NOT: amx.tile_zero
func.func @changed_since(%a: memref<2x16xi32>, %b: memref<16x4xi32>, %c: memref<2x4xi32>, %d: memref<2x4xi32>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<2x4xi32>)
  "memref.copy"(%d, %c) : (memref<2x4xi32>, memref<2x4xi32>) -> ()
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<2x16xi32>, memref<16x4xi32>) outs(%c : memref<2x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// Views and arithmetic between the fill and the product change nothing.
// CHECK-LABEL: @view_between
// CHECK-NOT: linalg.fill
// CHECK: amx.tile_zero 0
// CHECK-NOT: amx.tile_load 0
func.func @view_between(%a: memref<2x16xi32>, %w: memref<32x4xi32>, %c: memref<2x4xi32>, %i: index) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<2x4xi32>)
  %j = arith.addi %i, %i : index
  %b = memref.subview %w[%j, 0] [16, 4] [1, 1] : memref<32x4xi32> to memref<16x4xi32, strided<[4, 1], offset: ?>>
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<2x16xi32>, memref<16x4xi32, strided<[4, 1], offset: ?>>) outs(%c : memref<2x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// A pair of tiles, then a single whole one, then the remainder, along rows and along columns.
// CHECK-LABEL: @blocks
// CHECK: amx.configure rows [16, 16, 16, 16, 16, 16, 16, 16] words
// CHECK: amx.configure rows [16, 0, 16, 0, 16, 16, 16, 0] words [16, 0, 16, 0, 16, 16, 16, 0]
// CHECK: amx.tile_store 0, %c[%c0, %c32]
// CHECK: amx.configure rows [16, 0, 16, 0, 16, 16, 16, 0] words [3, 0, 3, 0, 16, 16, 3, 0]
// CHECK: amx.tile_store 0, %c[%c0, %c48]
// CHECK: amx.configure rows [16, 16, 0, 0, 16, 0, 16, 16] words
// CHECK: amx.tile_store 0, %c[%c32, %c0]
// CHECK: amx.tile_store 1, %c[%c32, %c16]
// CHECK: amx.configure rows [16, 0, 0, 0, 16, 0, 16, 0] words
// CHECK: amx.configure rows [16, 0, 0, 0, 16, 0, 16, 0] words [3, 0, 0, 0, 16, 0, 3, 0]
// CHECK-NOT: amx.configure
func.func @blocks(%a: memref<48x16xi32>, %b: memref<16x51xi32>, %c: memref<48x51xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<48x16xi32>, memref<16x51xi32>) outs(%c : memref<48x51xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// A single row, and a sum over two further loops.
// CHECK-LABEL: @row
// CHECK: amx.configure rows [1, 0, 0, 0, 1, 0, 4, 0] words [5, 0, 0, 0, 4, 0, 5, 0]
// CHECK: scf.for %[[V:.*]] = %c0 to %c2 step %c1
// CHECK-NEXT: scf.for %[[W:.*]] = %c0 to %c3 step %c1
// CHECK: amx.tile_load 4, %a[%[[V]], %[[W]], %c0] along 0 step 1
// CHECK: amx.tile_load 6, %b[%[[V]], %[[W]], %c0, %c0] along 2 step 1
func.func @row(%a: memref<2x3x4xi32>, %b: memref<2x3x4x5xi32>, %c: memref<1x5xi32>) {
  linalg.generic {indexing_maps = [affine_map<(n, v, w, k) -> (v, w, k)>, affine_map<(n, v, w, k) -> (v, w, k, n)>, affine_map<(n, v, w, k) -> (0, n)>], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : memref<2x3x4xi32>, memref<2x3x4x5xi32>) outs(%c : memref<1x5xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
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

// Extents that are known at run time only, and buffers whose columns are apart, stay.
// CHECK-LABEL: @dynamic
// CHECK-NOT: amx.
// CHECK: linalg.generic
func.func @dynamic(%a: memref<?x16xi32>, %b: memref<16x4xi32>, %c: memref<?x4xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<?x16xi32>, memref<16x4xi32>) outs(%c : memref<?x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}

// CHECK-LABEL: @strided
// CHECK-NOT: amx.
// CHECK: linalg.generic
func.func @strided(%a: memref<2x16xi32, strided<[32, 2]>>, %b: memref<16x4xi32>, %c: memref<2x4xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<2x16xi32, strided<[32, 2]>>, memref<16x4xi32>) outs(%c : memref<2x4xi32>) {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %r = arith.dot_bytes %x, %y, %acc : i32
    linalg.yield %r : i32
  }
  func.return
}
