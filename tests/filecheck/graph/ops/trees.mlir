// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @walks
func.func @walks(%x: tensor<?x20xf32, #graph.dims<["N", 20]>>, %n: tensor<9x4xi32>, %t: tensor<3x5xi32>, %w: tensor<6x2xf32>) {
  // CHECK: graph.tree_ensemble %x, %n, %t, %w depth 2 leaves 65 largest 1 aggregate "max" flips : ({{.*}}) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  %0 = graph.tree_ensemble %x, %n, %t, %w depth 2 leaves 65 largest 1 aggregate "max" flips : (tensor<?x20xf32, #graph.dims<["N", 20]>>, tensor<9x4xi32>, tensor<3x5xi32>, tensor<6x2xf32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  func.return
}

// CHECK-LABEL: @bits
func.func @bits(%x: tensor<8x20xf64>, %n: tensor<9x4xi64>, %t: tensor<3x5xi32>, %w: tensor<6x2xf64>, %c: tensor<6x2xi64>, %m: tensor<6xi32>) {
  // CHECK: graph.tree_ensemble %x, %n, %t, %w, %c, %m depth 1 leaves 2 largest 0 aggregate "sum" : ({{.*}}) -> tensor<8x2xf64>
  %0 = graph.tree_ensemble %x, %n, %t, %w, %c, %m depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<8x20xf64>, tensor<9x4xi64>, tensor<3x5xi32>, tensor<6x2xf64>, tensor<6x2xi64>, tensor<6xi32>) -> tensor<8x2xf64>
  func.return
}
