// RUN: stepwell-opt %s -p convert-stablehlo-to-graph --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: no conversion for rng_bit_generator
  %y = "stablehlo.operator"(%x) <{target = "rng_bit_generator"}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// -----
func.func @shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error: tanh makes tensor<4xf32>, and the program records tensor<5xf32>
  %y = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// -----
func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error: custom_call: a call of lapack_sgetrf
  %y = "stablehlo.custom_call"(%x) {call_target_name = "lapack_sgetrf"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// -----
func.func @data(%x: tensor<4xf32>, %s: tensor<2xi32>) {
  // expected-error: dynamic_reshape: `shape` depends on data
  %y = "stablehlo.dynamic_reshape"(%x, %s) : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  func.return
}
// -----
func.func @groups(%x: tensor<2x2x4xf32>, %w: tensor<2x2x1xf32>) {
  // expected-error: convolution: groups of batches, or no spatial dimension
  %y = "stablehlo.convolution"(%x, %w) {dimension_numbers = "[b, f, 0]x[o, i, 0]->[b, f, 0]", batch_group_count = 2 : i64} : (tensor<2x2x4xf32>, tensor<2x2x1xf32>) -> tensor<1x2x4xf32>
  func.return
}
// -----
func.func @axes(%x: tensor<4xf32>) {
  // expected-error: broadcast_in_dim: 1 dimensions are at the axes [2] of 2
  %y = "stablehlo.broadcast_in_dim"(%x) {broadcast_dimensions = [2]} : (tensor<4xf32>) -> tensor<2x4xf32>
  func.return
}
// -----
func.func @count(%x: tensor<4xf32>) {
  // expected-error: broadcast_in_dim: 1 dimensions are at the axes [0, 1] of 2
  %y = "stablehlo.broadcast_in_dim"(%x) {broadcast_dimensions = [0, 1]} : (tensor<4xf32>) -> tensor<2x4xf32>
  func.return
}
// -----
func.func @routine(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error: custom_call: the routine lapack_sgees_ffi of LAPACK is not supported
  %y = "stablehlo.custom_call"(%x) {call_target_name = "lapack_sgees_ffi"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
// -----
func.func @letter(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error: custom_call: lapack_cpotrf_ffi computes complex numbers
  %y = "stablehlo.custom_call"(%x) {call_target_name = "lapack_cpotrf_ffi"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
// -----
func.func @results(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error: custom_call: lapack_sgesdd_ffi takes 1 operands, the first a matrix, and has 5 results
  %y = "stablehlo.custom_call"(%x) {call_target_name = "lapack_sgesdd_ffi"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
// -----
func.func @narrow(%x: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
  // expected-error: cholesky: linear algebra of bf16
  %y = "stablehlo.cholesky"(%x) {lower = true} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  func.return %y : tensor<4x4xbf16>
}
// -----
func.func @option(%a: tensor<3x3xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error: custom_call: its option trans_x must be one of N, T, C, found none
  %x = "stablehlo.custom_call"(%a, %b) {call_target_name = "lapack_strsm_ffi", config = "diag=U,side=L,uplo=L"} : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %x : tensor<3x5xf32>
}
