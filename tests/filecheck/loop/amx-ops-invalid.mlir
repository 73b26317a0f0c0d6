// RUN: stepwell-opt %s --split-input-file --verify-diagnostics
func.func @c1_seventeen_rows() {
  // expected-error: 8 numbers of rows from 0 to 16, found [17, 0, 0, 0, 0, 0, 0, 0]
  amx.configure rows [17, 0, 0, 0, 0, 0, 0, 0] words [16, 0, 0, 0, 0, 0, 0, 0]
  func.return
}
// -----
func.func @c2_rows_alone() {
  // expected-error: tile 1 must have `rows` and `words`, or neither
  amx.configure rows [16, 16, 0, 0, 0, 0, 0, 0] words [16, 0, 0, 0, 0, 0, 0, 0]
  func.return
}
// -----
func.func @c1_ninth_tile() {
  // expected-error: a tile must be one from 0 to 7, found 8
  amx.tile_zero 8
  func.return
}
// -----
func.func @c2_floats(%a: memref<16x16xf32>, %i: index) {
  // expected-error: tiles have elements of type i32, found f32
  amx.tile_load 0, %a[%i, %i] along 0 step 1 : memref<16x16xf32>
  func.return
}
// -----
func.func @c3_one_index(%a: memref<16x16xi32>, %i: index) {
  // expected-error: 2 indices for memref<16x16xi32>, found 1
  amx.tile_load 0, %a[%i] along 0 step 1 : memref<16x16xi32>
  func.return
}
// -----
func.func @c4_gaps(%a: memref<16x16xi32, strided<[32, 2]>>, %i: index) {
  // expected-error: the last dimension must have stride 1
  amx.tile_store 0, %a[%i, %i] along 0 step 1 : memref<16x16xi32, strided<[32, 2]>>
  func.return
}
// -----
func.func @c5_rows_along_words(%a: memref<16x16xi32>, %i: index) {
  // expected-error: `along` must be a dimension before the last, found 1 of 2
  amx.tile_load 0, %a[%i, %i] along 1 step 1 : memref<16x16xi32>
  func.return
}
// -----
func.func @c5_step_of_none(%a: memref<16x16xi32>, %i: index) {
  // expected-error: `step` must be positive, found 0
  amx.tile_load 0, %a[%i, %i] along 0 step 0 : memref<16x16xi32>
  func.return
}
// -----
func.func @c2_same_tile() {
  // expected-error: the tiles of a product must be different, found [0, 4, 4]
  amx.tile_muli 0, 4, 4
  func.return
}
