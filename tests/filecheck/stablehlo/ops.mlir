// RUN: stepwell-opt %s | filecheck %s

// Dimension numbers are arguments of their own, and regions of reductions the name of what they compute.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x4xf32, #graph.dims<["b", 4]>>, %w: tensor<4x8xf32>, %i: tensor<i32>) {
  // CHECK: "stablehlo.dot_general"(%x, %w) {lhs_contracting_dimensions = [1 : i64], rhs_contracting_dimensions = [0 : i64]}
  %y = "stablehlo.dot_general"(%x, %w) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : (tensor<?x4xf32, #graph.dims<["b", 4]>>, tensor<4x8xf32>) -> tensor<?x8xf32>
  // CHECK: "stablehlo.reduce"(%{{.*}}) {dimensions = [1 : i64], kind = "max"}
  %m = "stablehlo.reduce"(%y) {dimensions = [1], kind = "max"} : (tensor<?x8xf32>) -> tensor<?xf32>
  // CHECK: "stablehlo.case"(%i) ({
  // CHECK: "stablehlo.return"(%w)
  %c = "stablehlo.case"(%i) ({
    "stablehlo.return"(%w) : (tensor<4x8xf32>) -> ()
  }, {
    %n = "stablehlo.negate"(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "stablehlo.return"(%n) : (tensor<4x8xf32>) -> ()
  }) : (tensor<i32>) -> tensor<4x8xf32>
  // CHECK: "stablehlo.operator"(%w) <{target = "rng_bit_generator"}>
  %o = "stablehlo.operator"(%w) <{target = "rng_bit_generator"}> : (tensor<4x8xf32>) -> tensor<4xf32>
  func.return
}
