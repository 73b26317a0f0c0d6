// RUN: stepwell-opt %s -p inline{once} | filecheck %s

func.func private @one(%x: tensor<f32>) -> tensor<f32> {
  %v = graph.exp %x : tensor<f32> -> tensor<f32>
  func.return %v : tensor<f32>
}
func.func private @two(%x: tensor<f32>) -> tensor<f32> {
  %v = graph.neg %x : tensor<f32> -> tensor<f32>
  func.return %v : tensor<f32>
}
// A function and a lambda with one use are inlined, others and a lambda that calls itself are not.
// CHECK-LABEL: @main
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.call @two
// CHECK-NEXT: graph.call @two
// CHECK-NEXT: graph.tanh
// CHECK-NEXT: %[[L:.*]] = graph.lambda
// CHECK: graph.call %[[L]]
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %a = graph.call @one(%x) : (tensor<f32>) -> tensor<f32>
  %b = graph.call @two(%a) : (tensor<f32>) -> tensor<f32>
  %c = graph.call @two(%b) : (tensor<f32>) -> tensor<f32>
  %f = graph.lambda (%p: tensor<f32>) -> (tensor<f32>) {
    %q = graph.tanh %p : tensor<f32> -> tensor<f32>
    graph.yield %q : tensor<f32>
  }
  %d = graph.call %f(%c) : (tensor<f32>) -> tensor<f32>
  %g = graph.lambda self %loop (%p: tensor<f32>) -> (tensor<f32>) {
    %q = graph.call %loop(%p) : (tensor<f32>) -> tensor<f32>
    graph.yield %q : tensor<f32>
  }
  %e = graph.call %g(%d) : (tensor<f32>) -> tensor<f32>
  func.return %e : tensor<f32>
}
