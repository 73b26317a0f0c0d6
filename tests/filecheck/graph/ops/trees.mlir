// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @trees
func.func @trees(%x: tensor<?x20xf32, #graph.dims<["N", 20]>>, %f: tensor<9xi32>, %t: tensor<9xf32>, %c: tensor<9x2xi32>, %m: tensor<9xi1>, %r: tensor<3xi32>, %w: tensor<9x2xf32>) {
  // CHECK: graph.tree_ensemble %x, %f, %t, %c, %m, %r, %w steps 1 aggregate "max" : ({{.*}}) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  %0 = graph.tree_ensemble %x, %f, %t, %c, %m, %r, %w steps 1 aggregate "max" : (tensor<?x20xf32, #graph.dims<["N", 20]>>, tensor<9xi32>, tensor<9xf32>, tensor<9x2xi32>, tensor<9xi1>, tensor<3xi32>, tensor<9x2xf32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  func.return
}
