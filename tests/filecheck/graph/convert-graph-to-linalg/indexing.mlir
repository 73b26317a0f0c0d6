// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg --split-input-file | filecheck %s

// Indices count from the end when negative, and never leave the tensor.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2xi32>) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK: arith.extsi %{{.*}} : i32 to i64
// CHECK: arith.index_cast
// CHECK: arith.select
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<9x4xf32>
func.func @gather(%x: tensor<9x4xf32>, %i: tensor<2xi32>) -> tensor<2x4xf32> {
  %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<9x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// A position of two numbers is two reads of the indices.
// CHECK-LABEL: func.func private @k0
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, 1)>
func.func @gather_nd(%x: tensor<3x4x5xf32>, %i: tensor<7x2xi64>) -> tensor<7x5xf32> {
  %y = graph.gather_nd %x, %i batch_dims 0 : (tensor<3x4x5xf32>, tensor<7x2xi64>) -> tensor<7x5xf32>
  func.return %y : tensor<7x5xf32>
}

// -----

// Updates go in one by one: the order decides which wins, and sums have one order.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[X:.*]] = linalg.generic
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[X]])
// CHECK: scf.for
// CHECK: tensor.extract
// CHECK: arith.addf
// CHECK: tensor.insert
// CHECK: scf.yield
func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<3x2xi64>, %u: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %y = graph.scatter_elements %x, %i, %u axis 1 combine "add" : (tensor<3x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// A sum of truth values is true if one of them is: they do not wrap.
// CHECK-LABEL: func.func private @k0
// CHECK-NOT: arith.addi %{{.*}} : i1
// CHECK: arith.maxui %{{.*}}, %{{.*}} : i1
func.func @scatter_truth_values(%x: tensor<3xi1>, %i: tensor<2xi64>, %u: tensor<2xi1>) -> tensor<3xi1> {
  %y = graph.scatter_elements %x, %i, %u axis 0 combine "add" : (tensor<3xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<3xi1>
  func.return %y : tensor<3xi1>
}

// -----

// CHECK-LABEL: func.func private @k0
// CHECK: linalg.index 1
// CHECK: arith.cmpi eq
func.func @one_hot(%i: tensor<4xi64>) -> tensor<4x10xi1> {
  %y = graph.one_hot %i depth <[10]> axis 1 : tensor<4xi64> -> tensor<4x10xi1>
  func.return %y : tensor<4x10xi1>
}

// -----

// Dimensions as data come from the symbol arguments.
// CHECK-LABEL: func.func private @k0(%{{.*}}: index)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2xi64>)
// CHECK: arith.select
func.func @extents(%x: tensor<?xf32, #graph.dims<["N"]>>) -> tensor<2xi64> {
  %y = graph.extents <["N", "2 * N"]> -> tensor<2xi64>
  func.return %y : tensor<2xi64>
}
