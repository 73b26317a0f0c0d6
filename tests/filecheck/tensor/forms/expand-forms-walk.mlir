// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// Two rows of a tree in lock step, tree by tree for a block of rows; the fifth row alone, two trees in lock step.
// CHECK-LABEL: @k
// CHECK: %[[NODES:.*]] = tensor.collapse_shape %nodes
// CHECK: %[[TREES:.*]] = tensor.collapse_shape %trees
// CHECK: %[[START:.*]] = scf.for %{{.*}} = %c0 to %c5 step %c1 iter_args(%{{.*}} = %init)
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c4 step %c4 iter_args(%{{.*}} = %[[START]])
// CHECK: scf.for %[[TREE:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %{{.*}} step %c2
// CHECK: %[[LEAVES:.*]], %{{.*}} = scf.for %{{.*}} = %c0 to %[[DEPTH:.*]] step %c1 iter_args(%[[NODE:.*]] = %[[ROOT:.*]], %{{.*}} = %[[ROOT]]) -> (index, index)
// CHECK: %[[NUMBER:.*]] = tensor.extract %x[%[[ROW]], %{{.*}}]
// CHECK: %[[BITS:.*]] = tensor.extract %[[NODES]][%[[NODE]]]
// CHECK: %[[THRESHOLD:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK: %[[HOLDS:.*]] = arith.cmpf ole, %[[NUMBER]], %[[THRESHOLD]]
// CHECK: arith.select %[[HOLDS]], %c4, %c0 : index
// CHECK: arith.addf
// CHECK: tensor.insert
// CHECK: {sched.parallel}
// CHECK: scf.for %[[LAST:.*]] = %c4 to %c5 step %c1
// CHECK: %[[DEEPEST:.*]] = arith.maxsi
// CHECK: scf.for %{{.*}} = %c0 to %[[DEEPEST]] step %c1 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (index, index)
// CHECK: tensor.extract %x[%[[LAST]],
func.func private @k(%x: tensor<5x2xf32>) -> tensor<5x1xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %nodes = arith.constant dense<[[1056964608, 0, 4, 0], [2143289344, 0, 4, 1], [2143289344, 0, 8, 0], [1056964608, 1, 16, 0], [2143289344, 0, 16, 3], [2143289344, 0, 20, 2]]> : tensor<6x4xi32>
  %trees = arith.constant dense<[[0, 1, 0, 1, 0], [12, 1, 1, 2, 2]]> : tensor<2x5xi32>
  %weights = arith.constant dense<[[1.0], [2.0], [4.0], [8.0]]> : tensor<4x1xf32>
  %cuts = arith.constant dense<[[1056964608, 0], [1056964608, 1]]> : tensor<2x2xi32>
  %masks = arith.constant dense<[2147483647, 2147483647]> : tensor<2xi32>
  %init = tensor.empty() : tensor<5x1xf32>
  %y = linalg_ext.tree_ensemble %x, %nodes, %trees, %weights into %init bits %cuts, %masks depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "walk", sizes = {rows = 2, block = 4, trees = 2}>} : (tensor<5x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<5x1xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<5x1xf32>
  func.return %y : tensor<5x1xf32>
}
