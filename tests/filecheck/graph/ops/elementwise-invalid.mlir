// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @c1_number(%x: tensor<4xi1>) {
  // expected-error: element type must be a float or an integer, found i1
  %0 = graph.neg %x : tensor<4xi1> -> tensor<4xi1>
  func.return
}
// -----
func.func @c1_float(%x: tensor<4xi32>) {
  // expected-error: element type must be a float, found i32
  %0 = graph.exp %x : tensor<4xi32> -> tensor<4xi32>
  func.return
}
// -----
func.func @c1_bits(%x: tensor<4xf32>) {
  // expected-error: element type must be i1 or an integer, found f32
  %0 = graph.not %x : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// -----
func.func @result_type(%x: tensor<4xf32>) {
  // expected-error: result type must be tensor<4xf32>, found tensor<5xf32>
  %0 = graph.exp %x : tensor<4xf32> -> tensor<5xf32>
  func.return
}
// -----
func.func @result_symbols(%x: tensor<?xf32, #graph.dims<["N"]>>) {
  // expected-error: result type must be tensor<?xf32, #graph.dims<["N"]>>
  %0 = graph.exp %x : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["M"]>>
  func.return
}
// -----
func.func @is_nan_result(%x: tensor<4xf32>) {
  // expected-error: result type must be tensor<4xi1>, found tensor<4xf32>
  %0 = graph.is_nan %x : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// -----
func.func @cast_result(%x: tensor<4xf32>) {
  // expected-error: result type must be tensor<4xi8>, found tensor<4xi32>
  %0 = graph.cast %x to i8 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi32>
  func.return
}
// -----
func.func @cast_c2_round(%x: tensor<4xf32>) {
  // expected-error: round must be "nearest", "up" or "down", found "odd"
  %0 = graph.cast %x to i8 saturate true round "odd" : tensor<4xf32> -> tensor<4xi8>
  func.return
}
// -----
func.func @bitcast_c2_width(%x: tensor<4xf32>) {
  // expected-error: bitcast needs types of one width, found 4 and 8 bytes
  %0 = graph.bitcast %x to i64 : tensor<4xf32> -> tensor<4xi64>
  func.return
}
// -----
func.func @gelu_c2_approximate(%x: tensor<4xf32>) {
  // expected-error: approximate must be "none" or "tanh", found "erf"
  %0 = graph.gelu %x approximate "erf" : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// -----
func.func @clip_c2_element(%x: tensor<4xf32>, %lo: tensor<f16>) {
  // expected-error: operands must have one element type, found f32 and f16
  %0 = graph.clip %x lo %lo : tensor<f16> : tensor<4xf32> -> tensor<4xf32>
  func.return
}
// -----
func.func @clip_c3_rank(%x: tensor<4xf32>, %hi: tensor<1xf32>) {
  // expected-error: hi must have rank 0, found rank 1
  %0 = graph.clip %x hi %hi : tensor<1xf32> : tensor<4xf32> -> tensor<4xf32>
  func.return
}
