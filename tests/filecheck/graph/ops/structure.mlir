// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @main
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %{{.*}} = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: %{{.*}} = graph.constant #graph.weight<"w", "9f86", tensor<64x32xbf16>> : tensor<64x32xbf16>
  %w = graph.constant #graph.weight<"w", "9f86", tensor<64x32xbf16>> : tensor<64x32xbf16>
  // CHECK: %[[Y:.*]] = graph.fused (%[[A:.*]] = %x : tensor<4xf32>) -> (tensor<4xf32>) attributes {note = "kept"} {
  // CHECK-NEXT: %[[B:.*]] = graph.exp %[[A]]
  // CHECK-NEXT: graph.yield %[[B]] : tensor<4xf32>
  // CHECK-NEXT: }
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) attributes {note = "kept"} {
    %b = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  // CHECK: graph.fused () -> (tensor<i64>) {
  %k = graph.fused () -> (tensor<i64>) {
    %one = graph.constant dense<1> : tensor<i64>
    graph.yield %one : tensor<i64>
  }
  // CHECK: %[[T:.*]] = graph.tuple %[[Y]], %{{.*}} : tensor<4xf32>, tensor<2xf32>
  %t = graph.tuple %y, %c : tensor<4xf32>, tensor<2xf32>
  // CHECK: graph.tuple ()
  %u = graph.tuple ()
  // CHECK: graph.get %[[T]][1] : tuple<tensor<4xf32>, tensor<2xf32>> -> tensor<2xf32>
  %g = graph.get %t[1] : tuple<tensor<4xf32>, tensor<2xf32>> -> tensor<2xf32>
  // CHECK: graph.assert "N" equals "2 * M", "what must hold"
  graph.assert "N" equals "2 * M", "what must hold"
  // CHECK: graph.call @main(%[[Y]]) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.call @main(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
