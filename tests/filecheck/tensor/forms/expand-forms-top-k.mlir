// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg,expand-forms --split-input-file | filecheck %s

// A walk for elements of 64 bits: the first k are kept in order; blocks of 16 that have none to keep are passed over; the rest one by one.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} iter_args({{.*}}) -> (tensor<2x3xf64>, tensor<2x3xi64>)
// CHECK: %[[BLOCK:.*]] = tensor.extract_slice %x[%[[ROW]], %{{.*}}] [1, 16] [1, 1] : tensor<2x40xf64> to tensor<1x16xf64>
// CHECK: %[[SOME:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[BLOCK]] : tensor<1x16xf64>)
// CHECK: arith.cmpf ugt
// CHECK: arith.cmpf ord
// CHECK: %[[FOUND:.*]] = tensor.extract %[[SOME]]
// CHECK: arith.select %[[FOUND]]
func.func @rows(%x: tensor<2x40xf64>) -> (tensor<2x3xf64>, tensor<2x3xi64>) {
  %a, %b = graph.top_k %x k <[3]> axis 1 largest true : tensor<2x40xf64> -> (tensor<2x3xf64>, tensor<2x3xi64>)
  func.return %a, %b : tensor<2x3xf64>, tensor<2x3xi64>
}

// -----

// Elements of a row that are no neighbours are looked at one by one.
// CHECK-LABEL: func.func private @k0
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @columns(%x: tensor<40x2xf64>) -> (tensor<3x2xf64>, tensor<3x2xi64>) {
  %a, %b = graph.top_k %x k <[3]> axis 0 largest false : tensor<40x2xf64> -> (tensor<3x2xf64>, tensor<3x2xi64>)
  func.return %a, %b : tensor<3x2xf64>, tensor<3x2xi64>
}

// -----

// Rounds: an element's rank is its key, in whose order it comes, over the complement of its place. Each round
// takes the greatest of the blocks' first ranks, and finds the next one of the block that it came from.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for %[[ROW:.*]] = {{.*}} -> (tensor<2x7xf32>, tensor<2x7xi64>)
// CHECK: %[[ROOM:.*]] = linalg.fill {{.*}} -> tensor<1024xi64>
// CHECK: linalg.generic {{.*}}ins(%{{.*}} : tensor<1x1000xf32>) outs(%{{.*}} : tensor<1000xi64>)
// CHECK: arith.cmpf uno
// CHECK: arith.shli
// CHECK: %[[RANKS:.*]] = tensor.expand_shape {{.*}} : tensor<1024xi64> into tensor<32x32xi64>
// CHECK: %[[TOPS:.*]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[RANKS]] : tensor<32x32xi64>)
// CHECK: scf.for {{.*}} iter_args({{.*}}, %[[LEFT:.*]] = %[[TOPS]])
// CHECK: linalg.generic {{.*}}["reduction"]} ins(%[[LEFT]] : tensor<32xi64>)
// CHECK: %[[BEST:.*]] = tensor.extract
// CHECK: %[[BLOCK:.*]] = arith.divui
// CHECK: tensor.extract_slice %[[RANKS]][%[[BLOCK]], 0] [1, 32] [1, 1]
// CHECK: arith.cmpi slt, %{{.*}}, %[[BEST]]
// CHECK: %[[NEXT:.*]] = tensor.extract
// CHECK: tensor.insert %[[NEXT]] into %[[LEFT]][%[[BLOCK]]]
// CHECK: {sched.parallel}
func.func @rounds(%x: tensor<2x1000xf32>) -> (tensor<2x7xf32>, tensor<2x7xi64>) {
  %a, %b = graph.top_k %x k <[7]> axis 1 largest true : tensor<2x1000xf32> -> (tensor<2x7xf32>, tensor<2x7xi64>)
  func.return %a, %b : tensor<2x7xf32>, tensor<2x7xi64>
}

// -----

// A short row is one block; for the least ones, the order of keys is turned round.
// CHECK-LABEL: func.func private @k0
// CHECK: %[[MINUS_ONE:.*]] = arith.constant -1 : i32
// CHECK: arith.xori %{{.*}}, %[[MINUS_ONE]] : i32
// CHECK: tensor.expand_shape {{.*}} : tensor<40xi64> into tensor<1x40xi64>
func.func @one_block(%x: tensor<2x37xi32>) -> (tensor<2x3xi32>, tensor<2x3xi64>) {
  %a, %b = graph.top_k %x k <[3]> axis 1 largest false : tensor<2x37xi32> -> (tensor<2x3xi32>, tensor<2x3xi64>)
  func.return %a, %b : tensor<2x3xi32>, tensor<2x3xi64>
}

// -----

// A few of very many are found by a walk, which passes over nearly all.
// CHECK-LABEL: func.func private @k0
// CHECK-NOT: arith.shli
// CHECK: tensor.extract_slice %x[%{{.*}}, %{{.*}}] [1, 16] [1, 1] : tensor<2x9000xf32> to tensor<1x16xf32>
func.func @few_of_many(%x: tensor<2x9000xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %a, %b = graph.top_k %x k <[3]> axis 1 largest true : tensor<2x9000xf32> -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %a, %b : tensor<2x3xf32>, tensor<2x3xi64>
}
