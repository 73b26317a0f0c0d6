// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @numbers
func.func @numbers(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // CHECK: graph.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %add = graph.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %subtract = graph.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %multiply = graph.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %divide = graph.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %maximum = graph.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.minimum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %minimum = graph.minimum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.power %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %power = graph.power %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.remainder %a, %b rounding "trunc" : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %remainder = graph.remainder %a, %b rounding "trunc" : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %equal = graph.equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.not_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %not_equal = graph.not_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %less = graph.less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.less_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %less_equal = graph.less_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: @bits
func.func @bits(%a: tensor<2x1xi32>, %b: tensor<3xi32>) {
  // CHECK: graph.and %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %and = graph.and %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: graph.or %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %or = graph.or %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: graph.xor %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %xor = graph.xor %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: graph.shift_left %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %shift_left = graph.shift_left %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: graph.shift_right %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %shift_right = graph.shift_right %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  func.return
}

// Symbols broadcast: a number wins over a symbol, equal symbols stay, of two different ones nothing is known.
// CHECK-LABEL: @symbols
func.func @symbols(
    %c: tensor<?x1xi1, #graph.dims<["N", 1]>>, %a: tensor<?x?xf32, #graph.dims<["N", "S"]>>, %b: tensor<?xf32, #graph.dims<["M"]>>
) {
  // CHECK: -> tensor<?x?xf32, #graph.dims<["N", "S"]>>
  %0 = graph.where %c, %a, %a : (tensor<?x1xi1, #graph.dims<["N", 1]>>, tensor<?x?xf32, #graph.dims<["N", "S"]>>, tensor<?x?xf32, #graph.dims<["N", "S"]>>) -> tensor<?x?xf32, #graph.dims<["N", "S"]>>
  // CHECK: -> tensor<?x?xf32, #graph.dims<["N", "?"]>>
  %1 = graph.add %a, %b : (tensor<?x?xf32, #graph.dims<["N", "S"]>>, tensor<?xf32, #graph.dims<["M"]>>) -> tensor<?x?xf32, #graph.dims<["N", "?"]>>
  func.return
}
