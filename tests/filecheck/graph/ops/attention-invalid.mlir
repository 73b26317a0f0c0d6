// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_integers(%x: tensor<2x3xi32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.attention %x, %x, %x scale 1.0 : (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return
}
// -----
func.func @c1_mask_of_another_type(%x: tensor<2x3xf32>, %m: tensor<2xf16>) {
  // expected-error: operands must have one element type, found f32 and f16
  %0 = graph.attention %x, %x, %x mask %m : tensor<2xf16> scale 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @c2_rank(%x: tensor<2x3xf32>, %v: tensor<2xf32>) {
  // expected-error: operand v must have rank 2 or more, found 1
  %0 = graph.attention %x, %x, %v scale 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @c2_depth(%x: tensor<2x3xf32>, %k: tensor<2x4xf32>) {
  // expected-error: q and k must have one depth, found 3 and 4
  %0 = graph.attention %x, %k, %k scale 1.0 : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}
// -----
func.func @c2_keys(%x: tensor<2x3xf32>, %v: tensor<4x3xf32>) {
  // expected-error: k and v must have as many keys, found 2 and 4
  %0 = graph.attention %x, %x, %v scale 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @c2_batch(%x: tensor<2x5x3xf32>, %k: tensor<3x5x3xf32>) {
  // expected-error: shapes (2) and (3) and (3) do not broadcast: 2 against 3
  %0 = graph.attention %x, %k, %k scale 1.0 : (tensor<2x5x3xf32>, tensor<3x5x3xf32>, tensor<3x5x3xf32>) -> tensor<2x5x3xf32>
  func.return
}
// -----
func.func @c3_mask(%x: tensor<2x5x3xf32>, %m: tensor<4x1x5x5xf32>) {
  // expected-error: the mask must broadcast to the scores (2, 5, 5), found (4, 1, 5, 5)
  %0 = graph.attention %x, %x, %x mask %m : tensor<4x1x5x5xf32> scale 1.0 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  func.return
}
// -----
func.func @c4_result(%x: tensor<2x5x3xf32>) {
  // expected-error: result type must be tensor<2x5x3xf32>, found tensor<2x5x4xf32>
  %0 = graph.attention %x, %x, %x scale 1.0 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x4xf32>
  func.return
}
// -----
func.func @c5_pairs(%x: tensor<2x5x3xf32>) {
  // expected-error: pairs need f32 and an even depth, found tensor<2x5x3xf32>
  %0 = graph.attention %x, %x, %x scale 1.0 pairs true : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  func.return
}
// -----
func.func @c5_pairs_of_halves(%x: tensor<2x5x4xf16>) {
  // expected-error: pairs need f32 and an even depth, found tensor<2x5x4xf16>
  %0 = graph.attention %x, %x, %x scale 1.0 pairs true : (tensor<2x5x4xf16>, tensor<2x5x4xf16>, tensor<2x5x4xf16>) -> tensor<2x5x4xf16>
  func.return
}
