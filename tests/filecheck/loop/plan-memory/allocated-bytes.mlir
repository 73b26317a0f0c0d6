// RUN: stepwell-opt %s -p 'fuse-ops,convert-graph-to-linalg,plan-memory' --split-input-file | filecheck %s

// A product of two sizes from data can exceed 64 bits: then the bytes that are asked for are 2^62.
// CHECK-LABEL: func.func @main(
// CHECK: %[[LIMIT:.*]] = arith.constant 2305843009213693953 : index
// CHECK: %[[OVER:.*]] = arith.floordivsi %{{.*}}, %[[LIMIT]] : index
// CHECK: %[[MANY:.*]] = arith.constant 4611686018427387904 : index
// CHECK: %[[MORE:.*]] = arith.muli %[[OVER]], %[[MANY]] : index
// CHECK: %[[BYTES:.*]] = arith.maxsi %{{.*}}, %[[MORE]]
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
// CHECK-NOT: arith.floordivsi
// CHECK: sched.allocate slot 0, %[[BYTES]]
func.func @main(%s: tensor<1xi64>, %x: tensor<f32>) -> (tensor<?x8xf32, #graph.dims<["A", 8]>>) {
  %a = graph.bind_sizes %s names ["A"] : tensor<1xi64> -> index
  %y = graph.full %x shape <["A", 8]> : tensor<f32> -> tensor<?x8xf32, #graph.dims<["A", 8]>>
  func.return %y : tensor<?x8xf32, #graph.dims<["A", 8]>>
}
