// RUN: not stepwell-opt %S/bind-kernels-invalid.mlir -p 'bind-kernels{file="%s"}' 2>&1 | filecheck %s
// CHECK: error[bad-schedule]: kernel @unary of {{.*}} has 1 arguments, and its match 2 operands
// CHECK: note: the arguments are tensor<{{.*}}>
// CHECK: note: the operands are tensor<4x3xf32>, tensor<3x2xf32>
pattern.def @product {
  %y = pattern.op "graph.matmul"(...)
  pattern.yield %y
}
// -----
func.func @unary(%a: tensor<${M}x${K}xf32>) -> tensor<${M}x${K}xf32> {
  func.return %a : tensor<${M}x${K}xf32>
}
