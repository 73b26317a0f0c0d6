// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// A block of eight rows in lanes, with three targets in a vector; the last two rows are fewer than `least`.
// CHECK-LABEL: @k
// CHECK: %[[ONES:.*]] = arith.constant dense<-1> : vector<8xi32>
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c8
// CHECK: %[[COLUMNS:.*]] = scf.for {{.*}} -> (tensor<2x8xf32>)
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: %[[WORDS:.*]] = scf.for %[[CUT:.*]] = %{{.*}} to %{{.*}} step %c1 iter_args(%[[WORD:.*]] = %[[ONES]]) -> (vector<8xi32>)
// CHECK: %[[NUMBERS:.*]] = vector.transfer_read %[[COLUMNS]]
// CHECK: %[[THRESHOLDS:.*]] = vector.broadcast
// CHECK: %[[ABOVE:.*]] = arith.cmpf ugt, %[[NUMBERS]], %[[THRESHOLDS]] : vector<8xf32>
// CHECK: %[[MASK:.*]] = tensor.extract %masks[%[[CUT]]]
// CHECK: %[[LEFT:.*]] = arith.andi %[[WORD]], %{{.*}} : vector<8xi32>
// CHECK: arith.select %[[ABOVE]], %[[LEFT]], %[[WORD]] : vector<8xi1>, vector<8xi32>
// CHECK: vector.transfer_write %[[WORDS]]
// CHECK: math.ctlz
// CHECK: vector.transfer_read %weights{{.*}} vector<3xf32>
// CHECK: {sched.parallel}
// CHECK: scf.for %{{.*}} = %c8 to %c10 step %c1
func.func private @k(%x: tensor<10x2xf32>) -> tensor<10x3xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %nodes = arith.constant dense<[[1056964608, 0, 4, 0], [2143289344, 0, 4, 1], [2143289344, 0, 8, 0], [1056964608, 1, 16, 0], [2143289344, 0, 16, 3], [2143289344, 0, 20, 2]]> : tensor<6x4xi32>
  %trees = arith.constant dense<[[0, 1, 0, 1, 0], [12, 1, 1, 2, 2]]> : tensor<2x5xi32>
  %weights = arith.constant dense<[[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [4.0, 5.0, 6.0], [8.0, 9.0, 10.0]]> : tensor<4x3xf32>
  %cuts = arith.constant dense<[[1056964608, 0], [1056964608, 1]]> : tensor<2x2xi32>
  %masks = arith.constant dense<[2147483647, 2147483647]> : tensor<2xi32>
  %init = tensor.empty() : tensor<10x3xf32>
  %y = linalg_ext.tree_ensemble %x, %nodes, %trees, %weights into %init bits %cuts, %masks depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "bits", sizes = {rows = 8, least = 3}>} : (tensor<10x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x3xf32>, tensor<10x3xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<10x3xf32>
  func.return %y : tensor<10x3xf32>
}
