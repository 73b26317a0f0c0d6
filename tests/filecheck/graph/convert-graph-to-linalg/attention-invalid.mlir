// RUN: stepwell-opt %s -p convert-graph-to-linalg --split-input-file --verify-diagnostics

func.func @narrow(%x: tensor<16x8xf16>) -> tensor<16x8xf16> {
  %r = graph.fused (%q = %x : tensor<16x8xf16>) -> (tensor<16x8xf16>) {
    // expected-error: a kernel of graph.attention needs f32 rows of known size, found tensor<16x8xf16>
    %0 = graph.attention %q, %q, %q scale 0.5 : (tensor<16x8xf16>, tensor<16x8xf16>, tensor<16x8xf16>) -> tensor<16x8xf16>
    graph.yield %0 : tensor<16x8xf16>
  }
  func.return %r : tensor<16x8xf16>
}
