// RUN: stepwell-opt %s -p 'fuse-ops,convert-graph-to-linalg,plan-memory' --split-input-file | filecheck %s

// A product of two sizes from data can exceed 64 bits: its factors are bounded first, in i64.
// CHECK-LABEL: func.func @main(
// CHECK: %[[B:.*]] = arith.index_cast %b : index to i64
// CHECK: %[[D:.*]] = arith.maxsi %[[B]], %{{.*}} : i64
// CHECK: %[[Q:.*]] = arith.floordivsi %{{.*}}, %[[D]] : i64
// CHECK: %[[Q1:.*]] = arith.addi %[[Q]], %{{.*}} : i64
// CHECK: %[[F:.*]] = arith.minsi %{{.*}}, %[[Q1]] : i64
// CHECK: %[[P:.*]] = arith.muli %[[F]], %[[B]] : i64
// CHECK: arith.minsi %[[P]],
// CHECK: arith.constant 4611686018427387904 : index
// CHECK: %[[BYTES:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: sched.allocate slot 0, %[[BYTES]]
func.func @main(%s: tensor<2xi64>, %x: tensor<f32>) -> (tensor<?x?xf32, #graph.dims<["A", "B"]>>) {
  %a, %b = graph.bind_sizes %s names ["A", "B"] : tensor<2xi64> -> index, index
  %y = graph.full %x shape <["A", "B"]> : tensor<f32> -> tensor<?x?xf32, #graph.dims<["A", "B"]>>
  func.return %y : tensor<?x?xf32, #graph.dims<["A", "B"]>>
}

// -----

// One size from data times a small number cannot.
// CHECK-LABEL: func.func @main(
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK-NOT: i64 to index
// CHECK: sched.allocate slot 0, %[[BYTES]]
func.func @main(%s: tensor<1xi64>, %x: tensor<f32>) -> (tensor<?x8xf32, #graph.dims<["A", 8]>>) {
  %a = graph.bind_sizes %s names ["A"] : tensor<1xi64> -> index
  %y = graph.full %x shape <["A", 8]> : tensor<f32> -> tensor<?x8xf32, #graph.dims<["A", 8]>>
  func.return %y : tensor<?x8xf32, #graph.dims<["A", 8]>>
}

// -----

// A size with a difference is computed as it is, and not used where a part of it is too large.
// CHECK-LABEL: func.func @main(
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i64
// CHECK: %[[SIZE:.*]] = arith.muli
// CHECK: %[[BYTES:.*]] = arith.select %[[FITS]], %{{.*}}, %{{.*}} : index
// CHECK: sched.allocate slot 0, %[[BYTES]]
func.func @main(%s: tensor<2xi64>, %x: tensor<f32>) -> (tensor<?x?xf32, #graph.dims<["A", "B - 1"]>>) {
  %a, %b = graph.bind_sizes %s names ["A", "B"] : tensor<2xi64> -> index, index
  %y = graph.full %x shape <["A", "B - 1"]> : tensor<f32> -> tensor<?x?xf32, #graph.dims<["A", "B - 1"]>>
  func.return %y : tensor<?x?xf32, #graph.dims<["A", "B - 1"]>>
}
