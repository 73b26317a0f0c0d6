// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @values
func.func @values(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[F:.*]] = graph.lambda (%[[P:.*]]: tensor<4xf32>) -> (tensor<4xf32>) {
  // CHECK-NEXT: %[[Q:.*]] = graph.add %[[P]], %x
  // CHECK-NEXT: graph.yield %[[Q]] : tensor<4xf32>
  %f = graph.lambda (%p: tensor<4xf32>) -> (tensor<4xf32>) {
    %q = graph.add %p, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %q : tensor<4xf32>
  }
  // CHECK: %[[A:.*]] = graph.call %[[F]](%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = graph.call %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[G:.*]] = graph.function @g : (tensor<4xf32>) -> tensor<4xf32>
  %g = graph.function @g : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[B:.*]] = graph.call %[[G]](%[[A]]) : (tensor<4xf32>) -> tensor<4xf32>
  %b = graph.call %g(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: graph.call @g(%[[B]]) : (tensor<4xf32>) -> tensor<4xf32>
  %c = graph.call @g(%b) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[H:.*]] = graph.lambda (%{{.*}}: (tensor<4xf32>) -> tensor<4xf32>) -> (tensor<4xf32>) {
  %h = graph.lambda (%k: (tensor<4xf32>) -> tensor<4xf32>) -> (tensor<4xf32>) {
    %d = graph.call %k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  }
  // CHECK: graph.call %[[H]](%[[F]]) : ((tensor<4xf32>) -> tensor<4xf32>) -> tensor<4xf32>
  %e = graph.call %h(%f) : ((tensor<4xf32>) -> tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
