// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @missing(%x: tensor<4xf32>) {
  // expected-error: concatenate needs the argument `dimension`
  %y = "stablehlo.concatenate"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}
// -----
func.func @kind(%x: tensor<4xf32>) {
  // expected-error: `permutation` must be a list of int, found 0 : i64
  %y = "stablehlo.transpose"(%x) {permutation = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @choice(%i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error: stablehlo.case must have an operand that chooses, and two regions or more
  %c = "stablehlo.case"(%i) ({
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<i32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @loop(%x: tensor<4xf32>) {
  // expected-error: stablehlo.while must have 2 regions, found 1
  %c = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
