// RUN: not stepwell-opt %s -p 'eliminate-common-subexpr{skip=addd}' 2>&1 | filecheck %s
// RUN: not stepwell-opt %s -p 'to-mixed-precision{never=matmull}' 2>&1 | filecheck %s --check-prefix MIXED

// CHECK: error[bad-option]: no dialect has an op graph.addd: did you mean graph.add?
// MIXED: error[bad-option]: no dialect has an op graph.matmull: did you mean graph.matmul?
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
