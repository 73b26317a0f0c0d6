// RUN: stepwell-opt %s -p 'convert-graph-to-linalg' --verify-diagnostics

func.func @main(%x: tensor<1x?x8x8x16xf32, #graph.dims<[1, "C", 8, 8, 16]>>, %u: tensor<16x1x?x16xf32, #graph.dims<[16, 1, "16 * C", 16]>>) -> tensor<1x1x8x8x16xf32> {
  %0 = graph.fused (%a = %x : tensor<1x?x8x8x16xf32, #graph.dims<[1, "C", 8, 8, 16]>>, %b = %u : tensor<16x1x?x16xf32, #graph.dims<[16, 1, "16 * C", 16]>>) -> (tensor<1x1x8x8x16xf32>) {
    // expected-error: graph.winograd_conv needs known channels, found (1, C, 8, 8, 16)
    %y = graph.winograd_conv %a, %b tile 2 pads [1, 1, 1, 1] : (tensor<1x?x8x8x16xf32, #graph.dims<[1, "C", 8, 8, 16]>>, tensor<16x1x?x16xf32, #graph.dims<[16, 1, "16 * C", 16]>>) -> tensor<1x1x8x8x16xf32>
    graph.yield %y : tensor<1x1x8x8x16xf32>
  }
  func.return %0 : tensor<1x1x8x8x16xf32>
}
