// RUN: stepwell-opt %s -p convert-stablehlo-to-graph --split-input-file | filecheck %s

// Routines of LAPACK are functions of the host; a workspace is not made.
// CHECK-LABEL: @lapack
// CHECK: graph.host_call "numpy" "host.lu" payload
// CHECK: graph.host_call "numpy" "host.triangular_solve" payload "{{.*}}left{{[^,]*}} true
// CHECK: graph.host_call "numpy" "host.svd" payload
func.func @lapack(%a: tensor<2x3x3xf32>, %b: tensor<2x3x5xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x5xf32>, tensor<2x3xf32>) {
  %lu, %pivots, %info = "stablehlo.custom_call"(%a) {call_target_name = "lapack_sgetrf_ffi"}
    : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xi32>, tensor<2xi32>)
  %x = "stablehlo.custom_call"(%lu, %b) {call_target_name = "lapack_strsm_ffi", config = "diag=U,side=L,trans_x=N,uplo=L"}
    : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %c, %s, %u, %v, %i, %w = "stablehlo.custom_call"(%a) {call_target_name = "lapack_sgesdd_ffi", config = "mode=A"}
    : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<2xi32>, tensor<99xf32>)
  func.return %lu, %x, %s : tensor<2x3x3xf32>, tensor<2x3x5xf32>, tensor<2x3xf32>
}
// -----
// CHECK-LABEL: @solved
// CHECK: graph.host_call "numpy" "host.cholesky" payload
// CHECK: graph.host_call "numpy" "host.triangular_solve" payload "{{.*}}transposed{{[^,]*}} true
func.func @solved(%a: tensor<3x3xf64>, %b: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %l = "stablehlo.cholesky"(%a) {lower = true} : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %x = "stablehlo.triangular_solve"(%l, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = "TRANSPOSE"}
    : (tensor<3x3xf64>, tensor<3x5xf64>) -> tensor<3x5xf64>
  func.return %x : tensor<3x5xf64>
}
// -----
// An assertion about sizes is a check of each call; one that always holds is none.
// CHECK-LABEL: @assertion
// CHECK-NOT: graph.assert "4"
// CHECK: graph.assert "max(8, b)" equals "b", "Input shapes do not match. Expected value >= 8 for dimension variable 'b'."
// CHECK: graph.assert "-2 * (b floordiv 2) + b" equals "0", "the program was exported for other sizes"
func.func @assertion(%x: tensor<?x4xf32, #graph.dims<["b", 4]>>) -> tensor<?x4xf32, #graph.dims<["b", 4]>> {
  %eight = "stablehlo.weight"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
  %four = "stablehlo.weight"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
  %two = "stablehlo.weight"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
  %zero = "stablehlo.weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %b = "stablehlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<?x4xf32, #graph.dims<["b", 4]>>) -> tensor<i32>
  %n = "stablehlo.get_dimension_size"(%x) {dimension = 1 : i64} : (tensor<?x4xf32, #graph.dims<["b", 4]>>) -> tensor<i32>
  %same = "stablehlo.compare"(%n, %four) {comparison_direction = "EQ"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%same) {call_target_name = "shape_assertion"} : (tensor<i1>) -> ()
  %large = "stablehlo.compare"(%b, %eight) {comparison_direction = "GE"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%large, %b) {call_target_name = "shape_assertion", error_message = "Input shapes do not match. Expected value >= 8 for dimension variable 'b'. Using the following specifications: {0}"}
    : (tensor<i1>, tensor<i32>) -> ()
  %rest = "stablehlo.remainder"(%b, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %even = "stablehlo.compare"(%rest, %zero) {comparison_direction = "EQ"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%even) {call_target_name = "shape_assertion"} : (tensor<i1>) -> ()
  func.return %x : tensor<?x4xf32, #graph.dims<["b", 4]>>
}
// -----
// `mod(b, 2)` as JAX writes it: the remainder of sizes is not negative, so that nothing is added to it.
// CHECK-LABEL: @modulo
// CHECK: graph.assert "-2 * (b floordiv 2) + b" equals "0", "mod(b, 2) == 0"
// CHECK: graph.assert "(b floordiv 2)" equals "2", "floordiv(b, 2) == 2"
func.func @modulo(%x: tensor<?xf32, #graph.dims<["b"]>>) -> tensor<?xf32, #graph.dims<["b"]>> {
  %two = "stablehlo.weight"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
  %zero = "stablehlo.weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %b = "stablehlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<?xf32, #graph.dims<["b"]>>) -> tensor<i32>
  %rest = "stablehlo.remainder"(%b, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %some = "stablehlo.compare"(%rest, %zero) {comparison_direction = "NE"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %below = "stablehlo.compare"(%rest, %zero) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %by = "stablehlo.compare"(%two, %zero) {comparison_direction = "LT"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %differ = "stablehlo.compare"(%below, %by) {comparison_direction = "NE"} : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %adds = "stablehlo.and"(%differ, %some) : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %more = "stablehlo.add"(%rest, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %mod = "stablehlo.select"(%adds, %more, %rest) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
  %even = "stablehlo.compare"(%mod, %zero) {comparison_direction = "EQ"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%even) {call_target_name = "shape_assertion", error_message = "mod(b, 2) == 0"} : (tensor<i1>) -> ()
  %quotient = "stablehlo.divide"(%b, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %sign = "stablehlo.sign"(%b) : (tensor<i32>) -> tensor<i32>
  %one = "stablehlo.sign"(%two) : (tensor<i32>) -> tensor<i32>
  %opposite = "stablehlo.compare"(%sign, %one) {comparison_direction = "NE"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %above = "stablehlo.and"(%opposite, %some) : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %less = "stablehlo.subtract"(%quotient, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %floor = "stablehlo.select"(%above, %less, %quotient) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
  %half = "stablehlo.compare"(%floor, %two) {comparison_direction = "EQ"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%half) {call_target_name = "shape_assertion", error_message = "floordiv(b, 2) == 2"} : (tensor<i1>) -> ()
  func.return %x : tensor<?xf32, #graph.dims<["b"]>>
}
