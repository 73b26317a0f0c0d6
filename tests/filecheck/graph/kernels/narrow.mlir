// RUN: not stepwell-opt %S/bind-kernels-invalid.mlir -p 'bind-kernels{file="%s"}' 2>&1 | filecheck %s
// CHECK: error[bad-schedule]: kernel @narrow of {{.*}} returns tensor<4x1xf32>, and its match tensor<4x2xf32>
pattern.def @product {
  %a = pattern.any
  %b = pattern.any
  %y = pattern.op "graph.matmul"(%a, %b)
  pattern.yield %y
}
// -----
func.func @narrow(%a: tensor<${M}x${K}xf32>, %b: tensor<${K}x${N}xf32>) -> tensor<${M}x1xf32> {
  %y = tensor.empty() : tensor<${M}x1xf32>
  func.return %y : tensor<${M}x1xf32>
}
