// RUN: stepwell-opt %s -p 'convert-graph-to-linalg' --verify-diagnostics

func.func @main(%x: tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>, %u: tensor<16x1x16x16xf32>) -> tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>> {
  %0 = graph.fused (%a = %x : tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>, %b = %u : tensor<16x1x16x16xf32>) -> (tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>) {
    // expected-error: graph.winograd_conv needs images of known size, found (1, 1, H, 8, 16)
    %y = graph.winograd_conv %a, %b tile 2 pads [1, 1, 1, 1] : (tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>, tensor<16x1x16x16xf32>) -> tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>
    graph.yield %y : tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>
  }
  func.return %0 : tensor<1x1x?x8x16xf32, #graph.dims<[1, 1, "H", 8, 16]>>
}
