// RUN: stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=4 columns=16"},fuse-ops' | filecheck %s
// RUN: stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=4 columns=16"}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=4 columns=16"},fuse-ops,convert-graph-to-linalg' | filecheck %s --check-prefix TENSOR

// Two products of the same sizes share a function; they are kernels of their own, with their meaning inside.
// CHECK-LABEL: @main
// CHECK: %[[Y:.*]] = graph.fused {{.*}} attributes {kind = "pattern", pattern = "product", graph.kernel = @blocked_0} {
// CHECK-NEXT: graph.matmul
// CHECK: graph.fused {{.*}} attributes {kind = "pattern", pattern = "product", graph.kernel = @blocked_0} {
// CHECK: graph.fused {{.*}} attributes {kind = "single"}
// CHECK-NEXT: graph.relu

// TENSOR-LABEL: @main
// TENSOR: func.call @k0
// TENSOR-NEXT: func.call @k0
// TENSOR-NEXT: func.call @k1
// TENSOR: func.func private @k0({{.*}}) -> tensor<32x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
// TENSOR: #sched.schedule<tile = [4, 16, 1]
// TENSOR-NOT: @blocked
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = graph.matmul %x, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %z = graph.matmul %y, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = graph.relu %z : tensor<32x32xf32> -> tensor<32x32xf32>
  func.return %r : tensor<32x32xf32>
}

// Other types and open sizes stay as they are.
// CHECK-LABEL: @others
// CHECK-NOT: graph.kernel
// CHECK: func.return
// CHECK: func.func private @blocked_0(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
// CHECK: #sched.schedule<tile = [4, 16, 1], parallel = [1, 0], vectorize = 1>
// CHECK-NOT: @blocked_1
// REMARK: remark: kernel @blocked is for tensor<${M}x${K}xf32>, tensor<${K}x${N}xf32>, found tensor<2x3xf64>, tensor<3x2xf64>
// REMARK: remark: kernel @blocked is for tensor<${M}x${K}xf32>, tensor<${K}x${N}xf32>, found tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<3x2xf32>
func.func @others(%a: tensor<2x3xf64>, %b: tensor<3x2xf64>, %c: tensor<?x3xf32, #graph.dims<["N", 3]>>, %d: tensor<3x2xf32>) -> (tensor<2x2xf64>, tensor<?x2xf32, #graph.dims<["N", 2]>>) {
  %y = graph.matmul %a, %b : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
  %z = graph.matmul %c, %d : (tensor<?x3xf32, #graph.dims<["N", 3]>>, tensor<3x2xf32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  func.return %y, %z : tensor<2x2xf64>, tensor<?x2xf32, #graph.dims<["N", 2]>>
}
