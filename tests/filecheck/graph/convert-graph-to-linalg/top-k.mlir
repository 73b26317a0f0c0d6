// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg --split-input-file | filecheck %s

// The first k are kept in order; blocks of 16 that have none to keep are passed over; the rest one by one.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} iter_args({{.*}}) -> (tensor<2x3xf32>, tensor<2x3xi64>)
// CHECK: %[[BLOCK:.*]] = tensor.extract_slice %x[%[[ROW]], %{{.*}}] [1, 16] [1, 1] : tensor<2x40xf32> to tensor<1x16xf32>
// CHECK: %[[SOME:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[BLOCK]] : tensor<1x16xf32>)
// CHECK: arith.cmpf ugt
// CHECK: arith.cmpf ord
// CHECK: %[[FOUND:.*]] = tensor.extract %[[SOME]]
// CHECK: arith.select %[[FOUND]]
func.func @rows(%x: tensor<2x40xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %a, %b = graph.top_k %x k <[3]> axis 1 largest true : tensor<2x40xf32> -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %a, %b : tensor<2x3xf32>, tensor<2x3xi64>
}

// -----

// Elements of a row that are no neighbours are looked at one by one.
// CHECK-LABEL: func.func private @k0
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @columns(%x: tensor<40x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>) {
  %a, %b = graph.top_k %x k <[3]> axis 0 largest false : tensor<40x2xf32> -> (tensor<3x2xf32>, tensor<3x2xi64>)
  func.return %a, %b : tensor<3x2xf32>, tensor<3x2xi64>
}
