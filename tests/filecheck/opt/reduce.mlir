// RUN: stepwell reduce %s -o %t.mlir --error unsupported && cat %t.mlir | filecheck %s
// RUN: stepwell reduce %s -o %t.mlir --error && stepwell-opt %t.mlir -p convert-graph-to-linalg --verify-diagnostics
// RUN: not stepwell-opt %s -p simplify-expr,convert-graph-to-linalg,share-kernels

// CHECK: // {{RUN}}: stepwell-opt %s -p 'convert-graph-to-linalg' --verify-diagnostics
// CHECK-NOT: graph.exp
// CHECK: graph.fused
// CHECK-NEXT: // expected-{{error}}: error[unsupported]: graph.add: dimension N of (N) may be 1 or 2 at run time
// CHECK-NEXT: graph.add
// CHECK-NOT: graph.exp
func.func @main(%x: tensor<?xf32, #graph.dims<["N"]>>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %y = graph.fused (%p = %x : tensor<?xf32, #graph.dims<["N"]>>, %q = %b : tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = graph.exp %p : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
    %1 = graph.add %0, %q : (tensor<?xf32, #graph.dims<["N"]>>, tensor<3xf32>) -> tensor<3xf32>
    %2 = graph.exp %1 : tensor<3xf32> -> tensor<3xf32>
    graph.yield %2 : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
