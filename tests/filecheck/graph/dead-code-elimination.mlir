// RUN: stepwell-opt %s -p dead-code-elimination | filecheck %s

// A whole chain goes in one walk, and what is dead inside a kernel; checks stay.
// CHECK-LABEL: @main
// CHECK-NEXT: graph.assert
// CHECK-NEXT: graph.fused
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.constant dense<1.0> : tensor<f32>
  graph.assert "N" equals "M", "sizes"
  %y = graph.fused (%p = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %q = graph.neg %p : tensor<4xf32> -> tensor<4xf32>
    %r = graph.exp %p : tensor<4xf32> -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
