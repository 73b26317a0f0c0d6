// RUN: stepwell-opt %S/bind-kernels.mlir -p 'bind-kernels{file="%s" sizes="rows=2 columns=8"}' | filecheck %s
// CHECK: graph.kernel = @blocked_0
// CHECK: tile = [2, 8, 1]
pattern.def @product {
  %a = pattern.any
  %b = pattern.any
  %y = pattern.op "graph.matmul"(%a, %b)
  pattern.yield %y
}
// -----
func.func @blocked(%a: tensor<${M}x${K}xf32>, %b: tensor<${K}x${N}xf32>) -> tensor<${M}x${N}xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<${M}x${N}xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<${M}x${N}xf32>) -> tensor<${M}x${N}xf32>
  %y = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : tensor<${M}x${K}xf32>, tensor<${K}x${N}xf32>) outs(%sums : tensor<${M}x${N}xf32>)
    attrs = {sched.schedule = #sched.schedule<tile = [${rows}, ${columns}, 1], parallel = [1, 0], vectorize = 1>} {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<${M}x${N}xf32>
  func.return %y : tensor<${M}x${N}xf32>
}
