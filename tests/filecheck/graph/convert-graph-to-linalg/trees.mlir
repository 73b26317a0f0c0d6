// RUN: stepwell-opt %s -p convert-graph-to-linalg | filecheck %s

// The form is chosen on level 2.
// CHECK: func.func private @k0
// CHECK: %[[INIT:.*]] = tensor.empty(%N) : tensor<?x2xf32>
// CHECK: linalg_ext.tree_ensemble %{{.*}} into %[[INIT]] bits %{{.*}} depth 1 leaves 2 largest 0 aggregate "max" :
func.func @main(%x: tensor<?x20xf32, #graph.dims<["N", 20]>>) -> tensor<?x2xf32, #graph.dims<["N", 2]>> {
  %n = graph.constant dense<[[1056964608, 7, 4, 0], [2143289344, 0, 4, 1], [2143289344, 0, 8, 0]]> : tensor<3x4xi32>
  %t = graph.constant dense<[[0, 1, 0, 1, 0]]> : tensor<1x5xi32>
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = graph.constant dense<[[1056964608, 7]]> : tensor<1x2xi32>
  %m = graph.constant dense<[2147483647]> : tensor<1xi32>
  %y = graph.fused (%x_ = %x : tensor<?x20xf32, #graph.dims<["N", 20]>>, %n_ = %n : tensor<3x4xi32>, %t_ = %t : tensor<1x5xi32>, %w_ = %w : tensor<2x2xf32>, %c_ = %c : tensor<1x2xi32>, %m_ = %m : tensor<1xi32>) -> (tensor<?x2xf32, #graph.dims<["N", 2]>>) {
    %0 = graph.tree_ensemble %x_, %n_, %t_, %w_, %c_, %m_ depth 1 leaves 2 largest 0 aggregate "max" : (tensor<?x20xf32, #graph.dims<["N", 20]>>, tensor<3x4xi32>, tensor<1x5xi32>, tensor<2x2xf32>, tensor<1x2xi32>, tensor<1xi32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
    graph.yield %0 : tensor<?x2xf32, #graph.dims<["N", 2]>>
  }
  func.return %y : tensor<?x2xf32, #graph.dims<["N", 2]>>
}
