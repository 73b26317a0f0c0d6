// RUN: stepwell-opt %s -p defuse-ops | filecheck %s
// RUN: stepwell-opt %s -p defuse-ops,defuse-ops | filecheck %s
// RUN: stepwell-opt %s -p fuse-ops,defuse-ops,fuse-ops | filecheck %s --check-prefix=AGAIN

// CHECK-LABEL: @two_outputs
// CHECK-NEXT: %[[H:.*]] = graph.constant dense<5.0
// CHECK-NEXT: %[[A:.*]] = graph.exp %x
// CHECK-NEXT: %[[B:.*]] = graph.multiply %[[A]], %[[H]]
// CHECK-NEXT: %[[C:.*]] = graph.neg %[[A]]
// CHECK-NEXT: func.return %[[B]], %[[C]]
// AGAIN-LABEL: @two_outputs
// AGAIN-NEXT: graph.constant
// AGAIN-NEXT: graph.fused
// AGAIN: attributes {kind = "elementwise"}
// AGAIN: graph.exp
func.func @two_outputs(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %a, %b = graph.fused (%x_1 = %x : tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
    %half = graph.constant dense<5.0> : tensor<f32>
    %e = graph.exp %x_1 : tensor<3x2xf32> -> tensor<3x2xf32>
    %m = graph.multiply %e, %half : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
    graph.yield %e, %m : tensor<3x2xf32>, tensor<3x2xf32>
  }
  %c = graph.fused (%x_1 = %a : tensor<3x2xf32>) -> (tensor<3x2xf32>) {
    %n = graph.neg %x_1 : tensor<3x2xf32> -> tensor<3x2xf32>
    graph.yield %n : tensor<3x2xf32>
  }
  func.return %b, %c : tensor<3x2xf32>, tensor<3x2xf32>
}

// A kernel whose result is an argument.
// CHECK-LABEL: @nothing
// CHECK-NEXT: func.return %x
func.func @nothing(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.fused (%x_1 = %x : tensor<3xf32>) -> (tensor<3xf32>) {
    graph.yield %x_1 : tensor<3xf32>
  }
  func.return %a : tensor<3xf32>
}
