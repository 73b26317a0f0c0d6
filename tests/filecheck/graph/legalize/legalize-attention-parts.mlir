// RUN: stepwell-opt %s -p 'legalize{set=attention-parts}' | filecheck %s
// RUN: stepwell-opt %s -p 'legalize{set=kernels}' | filecheck %s --check-prefix KERNEL

// A kernel of CPUs computes it; threads of a GPU have none.
// CHECK-NOT: graph.attention
// CHECK: graph.matmul
// CHECK: graph.softmax
// CHECK: graph.matmul
// CHECK-NOT: graph.attention
// KERNEL: graph.attention
func.func @main(%q: tensor<2x64x16xf32>, %k: tensor<2x64x16xf32>, %v: tensor<2x64x16xf32>) -> tensor<2x64x16xf32> {
  %y = graph.attention %q, %k, %v scale 0.25 : (tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  func.return %y : tensor<2x64x16xf32>
}
