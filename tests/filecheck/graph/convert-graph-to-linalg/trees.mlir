// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// The form is chosen on level 2.
// CHECK: func.func private @k0
// CHECK: %[[INIT:.*]] = tensor.empty(%N) : tensor<?x2xf32>
// CHECK: linalg_ext.tree_ensemble %{{.*}} into %[[INIT]] words %{{.*}} depth 3 leaves 8 largest 1 aggregate "max" flips :
func.func @main(%x: tensor<?x20xf32, #graph.dims<["N", 20]>>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>, %c: tensor<3x2xi32>, %m: tensor<3xi32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>> {
  %y = graph.fused (%x_ = %x : tensor<?x20xf32, #graph.dims<["N", 20]>>, %n_ = %n : tensor<9x4xi32>, %t_ = %t : tensor<3x5xi32>, %w_ = %w : tensor<6x2xf32>, %c_ = %c : tensor<3x2xi32>, %m_ = %m : tensor<3xi32>) -> (tensor<?x2xf32, #graph.dims<["N", 2]>>) {
    %0 = graph.tree_ensemble %x_, %n_, %t_, %w_, %c_, %m_ depth 3 leaves 8 largest 1 aggregate "max" flips : (tensor<?x20xf32, #graph.dims<["N", 20]>>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xf32>, tensor<3x2xi32>, tensor<3xi32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
    graph.yield %0 : tensor<?x2xf32, #graph.dims<["N", 2]>>
  }
  func.return %y : tensor<?x2xf32, #graph.dims<["N", 2]>>
}
