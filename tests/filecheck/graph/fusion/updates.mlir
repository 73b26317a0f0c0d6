// RUN: stepwell-opt %s -p fuse-ops | filecheck %s

// An update of a carried tensor whose value before has no other use is no part of a kernel; others are.
// CHECK-LABEL: func.func @main(
// CHECK: graph.for
// CHECK-NOT: graph.fused
// CHECK: %b = graph.insert_slice %u into %a at
// CHECK: graph.yield %b
// CHECK: graph.for
// CHECK: graph.fused
// CHECK: graph.insert_slice
func.func @main(%t: tensor<8x4xf32>, %u: tensor<1x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %n = graph.constant dense<8> : tensor<i64>
  %s = graph.for %i to %n (%a = %t : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
    %j = graph.bind_sizes %i names ["d"] : tensor<i64> -> index
    %b = graph.insert_slice %u into %a at <["d", 0]> : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    graph.yield %b : tensor<8x4xf32>
  }
  %v = graph.for %i to %n (%a = %t : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
    %j = graph.bind_sizes %i names ["e"] : tensor<i64> -> index
    %b = graph.insert_slice %u into %a at <["e", 0]> : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %c = graph.add %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    graph.yield %b : tensor<8x4xf32>
  }
  func.return %s, %v : tensor<8x4xf32>, tensor<8x4xf32>
}
