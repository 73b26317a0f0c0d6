// RUN: stepwell-opt %s -p count-draws --split-input-file | filecheck %s

// Each op has a stream of its own in each call: the number of the call, a state, times the ops, plus its own number.
// CHECK-LABEL: func.func @main(%draws: tensor<i64> {graph.name = "draws", graph.state = "draws"}, %x: tensor<?xf32
// CHECK-SAME: -> (tensor<?xui64, #graph.dims<["N"]>>, tensor<4xui64>, tensor<i64> {graph.name = "draws", graph.state = "draws"})
// CHECK: %[[TWO:.*]] = graph.constant dense<[0, 2]> : tensor<2xi64>
// CHECK: %[[FIRST:.*]] = graph.constant dense<[3, 0]> : tensor<2xi64>
// CHECK: %[[CALL:.*]] = graph.reshape %draws shape <[1]>
// CHECK: %[[STREAM:.*]] = graph.multiply %[[CALL]], %[[TWO]]
// CHECK: %[[KEY:.*]] = graph.add %[[STREAM]], %[[FIRST]]
// CHECK: %a = graph.random_bits %[[KEY]] count <["N"]>
// CHECK: graph.constant dense<[3, 1]> : tensor<2xi64>
// CHECK: %b = graph.random_bits
// CHECK: %[[NEXT:.*]] = graph.add %draws, %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: func.return %a, %b, %[[NEXT]]
func.func @main(%x: tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xui64, #graph.dims<["N"]>>, tensor<4xui64>) {
  %key = graph.constant dense<[3, 0]> : tensor<2xi64>
  %a = graph.random_bits %key count <["N"]> : tensor<2xi64> -> tensor<?xui64, #graph.dims<["N"]>>
  %b = graph.random_bits %key count <[4]> : tensor<2xi64> -> tensor<4xui64>
  func.return %a, %b : tensor<?xui64, #graph.dims<["N"]>>, tensor<4xui64>
}

// -----

// A key that the host draws, or that is given, stays.
// CHECK-LABEL: func.func @main(%key: tensor<2xi64>) -> tensor<4xui64>
// CHECK-NEXT: graph.random_bits %key
func.func @main(%key: tensor<2xi64>) -> tensor<4xui64> {
  %a = graph.random_bits %key count <[4]> : tensor<2xi64> -> tensor<4xui64>
  func.return %a : tensor<4xui64>
}
