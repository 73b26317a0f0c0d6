// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @main
func.func @main(%x: tensor<3x4x5xf32>, %i: tensor<?x2xi64, #graph.dims<["N", 2]>>, %j: tensor<3x1x5xi32>, %u: tensor<?x5xf32, #graph.dims<["N", 5]>>, %w: tensor<3x1x5xf32>) {
  // CHECK: graph.gather %x, %i axis 1 batch_dims 0 bounds "clip" : ({{.*}}) -> tensor<3x?x2x5xf32, #graph.dims<[3, "N", 2, 5]>>
  %0 = graph.gather %x, %i axis 1 batch_dims 0 bounds "clip" : (tensor<3x4x5xf32>, tensor<?x2xi64, #graph.dims<["N", 2]>>) -> tensor<3x?x2x5xf32, #graph.dims<[3, "N", 2, 5]>>
  // CHECK: graph.gather_elements %x, %j axis 1 : ({{.*}}) -> tensor<3x1x5xf32>
  %1 = graph.gather_elements %x, %j axis 1 : (tensor<3x4x5xf32>, tensor<3x1x5xi32>) -> tensor<3x1x5xf32>
  // CHECK: graph.gather_nd %x, %i batch_dims 0 : ({{.*}}) -> tensor<?x5xf32, #graph.dims<["N", 5]>>
  %2 = graph.gather_nd %x, %i batch_dims 0 : (tensor<3x4x5xf32>, tensor<?x2xi64, #graph.dims<["N", 2]>>) -> tensor<?x5xf32, #graph.dims<["N", 5]>>
  // CHECK: graph.scatter_elements %x, %j, %w axis 1 combine "max" unique : ({{.*}}) -> tensor<3x4x5xf32>
  %3 = graph.scatter_elements %x, %j, %w axis 1 combine "max" unique : (tensor<3x4x5xf32>, tensor<3x1x5xi32>, tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  // CHECK: graph.scatter_nd %x, %i, %u combine "none" : ({{.*}}) -> tensor<3x4x5xf32>
  %4 = graph.scatter_nd %x, %i, %u combine "none" : (tensor<3x4x5xf32>, tensor<?x2xi64, #graph.dims<["N", 2]>>, tensor<?x5xf32, #graph.dims<["N", 5]>>) -> tensor<3x4x5xf32>
  // CHECK: graph.one_hot %i depth <["D"]> axis 1 : {{.*}} -> tensor<?x?x2xi1, #graph.dims<["N", "D", 2]>>
  %5 = graph.one_hot %i depth <["D"]> axis 1 : tensor<?x2xi64, #graph.dims<["N", 2]>> -> tensor<?x?x2xi1, #graph.dims<["N", "D", 2]>>
  func.return
}
