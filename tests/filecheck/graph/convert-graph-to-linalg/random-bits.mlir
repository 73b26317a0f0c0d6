// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg | filecheck %s

// Each element is a function of the key and of its index: ten rounds of two products, of which the last one has no use.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.generic {{.*}}affine_map<(d0) -> (0)>, affine_map<(d0) -> (1)>, affine_map<(d0) -> (d0)>{{.*}}["parallel"]
// CHECK-SAME: ins(%key, %key : tensor<2xi64>, tensor<2xi64>)
// CHECK: linalg.index 0
// CHECK-COUNT-19: arith.muli
// CHECK-NOT: arith.muli
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: linalg.yield
func.func @main(%key: tensor<2xi64>, %x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xi1, #graph.dims<["N"]>> {
  %0 = graph.random_bits %key count <["N"]> : tensor<2xi64> -> tensor<?xui64, #graph.dims<["N"]>>
  %1 = graph.constant dense<9000000000000000000> : tensor<ui64>
  %2 = graph.less %0, %1 : (tensor<?xui64, #graph.dims<["N"]>>, tensor<ui64>) -> tensor<?xi1, #graph.dims<["N"]>>
  func.return %2 : tensor<?xi1, #graph.dims<["N"]>>
}
