// RUN: stepwell-opt %s -p fuse-ops,convert-graph-to-linalg --split-input-file | filecheck %s

// CHECK-LABEL: func.func private @k0
// Each class fills its own part of the results.
// CHECK: scf.for %[[BATCH:[0-9]+]] = {{.*}} -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
// CHECK: scf.for %[[CLASS:[0-9]+]] = {{.*}} -> (tensor<2x3x9xi64>, tensor<2x3xi64>)

// Candidates: a block of scores none of which is above the least is skipped.
// CHECK: %[[BLOCK:.*]] = tensor.extract_slice %s[%[[BATCH]], %[[CLASS]], %{{.*}}] [1, 1, 16]
// CHECK: %[[ANY:.*]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[BLOCK]]
// CHECK: %[[SOME:.*]] = tensor.extract %[[ANY]]
// CHECK: arith.select %[[SOME]]

// An entry is the score's key, descending and with NaN last, above the index of the box.
// CHECK: %[[SCORE:.*]] = tensor.extract %s[%[[BATCH]], %[[CLASS]], %{{.*}}]
// CHECK: arith.negf %[[SCORE]]
// CHECK: arith.cmpf uno
// CHECK: arith.shli
// CHECK: %[[ENTRY:.*]] = arith.addi
// CHECK: tensor.insert %[[ENTRY]] into {{.*}} : tensor<40xi64>
// CHECK: arith.cmpf ogt, %[[SCORE]], %

// Two rounds of two digits each sort the entries: counts, their sums, and moves.
// CHECK: scf.for {{.*}} -> (tensor<40xi64>, tensor<40xi64>)
// CHECK: scf.for {{.*}} -> (tensor<256xi64>)
// CHECK: scf.for {{.*}} -> (tensor<256xi64>, i64)
// CHECK: scf.for {{.*}} -> (tensor<256xi64>, tensor<40xi64>)
// CHECK: scf.for {{.*}} -> (tensor<256xi64>, tensor<40xi64>)

// A candidate meets 16 selected boxes at once; the overlap is a quotient.
// CHECK: scf.for {{.*}} -> (tensor<25xf32>, tensor<25xf32>, tensor<25xf32>, tensor<25xf32>, tensor<25xf32>, tensor<2x3x9xi64>, index)
// CHECK: %[[HIT:[0-9]+]] = scf.for {{.*}} -> (i1)
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins({{.*}} : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK: %[[OVERLAP:.*]] = arith.divf
// CHECK: arith.cmpf ogt, %[[OVERLAP]], %
// CHECK: arith.select %[[HIT]]

// A selected box is stored in the lanes after its own too.
// CHECK: scf.for
// CHECK: %[[ROOM:.*]] = tensor.extract_slice {{.*}} [16] [1] : tensor<25xf32> to tensor<16xf32>
// CHECK: %[[LANES:.*]] = linalg.fill {{.*}} outs(%[[ROOM]]
// CHECK: tensor.insert_slice %[[LANES]]
// CHECK: {sched.parallel}
// CHECK: {sched.parallel}
func.func @centers(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %o: tensor<f32>, %l: tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>) {
  %c, %n = graph.non_max_suppression %b, %s overlap %o least %l most <[9]> center true
    : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return %c, %n : tensor<2x3x9xi64>, tensor<2x3xi64>
}

// -----

// Without a least score every box is a candidate. Corners may be in any order.
// CHECK-LABEL: func.func private @k0
// CHECK-NOT: tensor.extract_slice %s
// CHECK: scf.for {{.*}} -> (tensor<40xi64>, tensor<40xi64>)
// CHECK: arith.minimumf
// CHECK: arith.minimumf
// CHECK: arith.maximumf
// CHECK: arith.maximumf
// CHECK: %[[HIT:[0-9]+]] = scf.for {{.*}} -> (i1)
func.func @corners(%b: tensor<2x40x4xf32>, %s: tensor<2x3x40xf32>, %o: tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>) {
  %c, %n = graph.non_max_suppression %b, %s overlap %o most <[9]> center false
    : (tensor<2x40x4xf32>, tensor<2x3x40xf32>, tensor<f32>) -> (tensor<2x3x9xi64>, tensor<2x3xi64>)
  func.return %c, %n : tensor<2x3x9xi64>, tensor<2x3xi64>
}

// -----

// Loops over the parts carry the number of rows so far.
// CHECK-LABEL: func.func private @k0
// CHECK: scf.for %[[I:[0-9]+]] = {{.*}} -> (tensor<7x3xi64>, index)
// CHECK: scf.for %[[J:[0-9]+]] = {{.*}} iter_args(%{{.*}}, %[[FIRST:.*]] = %{{.*}}) -> (tensor<7x3xi64>, index)
// CHECK: %[[COUNT:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: scf.for %[[K:[0-9]+]] = %{{.*}} to %[[COUNT]] {{.*}} -> (tensor<7x3xi64>)
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[K]]
// CHECK: tensor.insert %{{.*}} into %{{.*}}[%[[ROW]], %{{.*}}]
// CHECK: tensor.extract %p[%[[I]], %[[J]], %[[K]]]
// CHECK: arith.addi %[[FIRST]], %[[COUNT]]
func.func @join(%p: tensor<2x3x9xi64>, %c: tensor<2x3xi64>) -> tensor<7x3xi64> {
  %y = graph.join_parts %p, %c size <[7]> : (tensor<2x3x9xi64>, tensor<2x3xi64>) -> tensor<7x3xi64>
  func.return %y : tensor<7x3xi64>
}
