// RUN: stepwell-opt %s -p expand-forms | filecheck %s

// Of many channels: a row is reduced along the windows once, for both rows of the result that see it.
// CHECK-LABEL: @max_of_rows
// CHECK: %[[LOWEST:.*]] = arith.constant dense<0xff800000> : vector<8xf32>
// CHECK: scf.for %[[C:.*]] = %c0 to %c8 step %c1
// CHECK: %[[ROW:.*]] = vector.transfer_read %x[%{{.*}}, %[[C]], %c0, %c0], %{{.*}} : tensor<1x8x4x5xf32>, vector<8xf32>
// CHECK: %[[LEFT:.*]] = vector.shuffle %[[ROW]], %[[LOWEST]] [8, 0, 1, 2, 3, 4, 5, 6]
// CHECK: %[[RIGHT:.*]] = vector.transfer_read %x[%{{.*}}, %[[C]], %c0, %c1], %{{.*}} : tensor<1x8x4x5xf32>, vector<8xf32>
// CHECK: arith.cmpf ogt, %[[LEFT]], %[[LOWEST]]
// CHECK: vector.transfer_write %{{.*}}[%{{.*}}, %[[C]], %c0, %c0] : vector<8xf32>
func.func private @max_of_rows(%x: tensor<1x8x4x5xf32>) -> tensor<1x8x4x5xf32> {
  %e = tensor.empty() : tensor<1x8x4x5xf32>
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : (tensor<1x8x4x5xf32>, tensor<1x8x4x5xf32>) -> tensor<1x8x4x5xf32>
  func.return %y : tensor<1x8x4x5xf32>
}

// Many rows in a loop, which carries the row that is seen again; windows at the border have fewer cells.
// CHECK-LABEL: @mean_of_rows
// CHECK-DAG: arith.constant dense<[2.500000e-01, 0.166666672, 0.166666672, 0.166666672]> : vector<4xf32>
// CHECK-DAG: arith.constant dense<[0.166666672, 0.111111112, 0.111111112, 0.111111112]> : vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [4, 1, 2, 3]
// CHECK: scf.for {{.*}} step %c1 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<4xf32>, tensor<2x4x20x4xf32>)
// CHECK: arith.mulf
// CHECK: scf.yield
func.func private @mean_of_rows(%x: tensor<2x4x40x8xf32>) -> tensor<2x4x20x4xf32> {
  %e = tensor.empty() : tensor<2x4x20x4xf32>
  %y = linalg_ext.pool %x into %e kind "avg" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] : (tensor<2x4x40x8xf32>, tensor<2x4x20x4xf32>) -> tensor<2x4x20x4xf32>
  func.return %y : tensor<2x4x20x4xf32>
}

// Sizes of a schedule: two vectors of four columns after each other, and three rows in a loop.
// CHECK-LABEL: @edited
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<4xf32>, vector<4xf32>, tensor<1x8x5x8xf32>)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<4xf32>, vector<4xf32>, tensor<1x8x5x8xf32>)
func.func private @edited(%x: tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32> {
  %e = tensor.empty() : tensor<1x8x5x8xf32>
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "rows", sizes = {lanes = 4, strips = 1, unrolled = 1}>} : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return %y : tensor<1x8x5x8xf32>
}
