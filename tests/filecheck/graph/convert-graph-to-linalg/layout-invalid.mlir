// RUN: stepwell-opt %s -p convert-graph-to-linalg --split-input-file --verify-diagnostics

func.func @other_blocks(%x: tensor<1x2x7x7x16xf32>) -> tensor<1x4x7x7x8xf32> {
  %0 = graph.fused (%p = %x : tensor<1x2x7x7x16xf32>) -> (tensor<1x4x7x7x8xf32>) {
    // expected-error: graph.layout_transform from blocks of C in NCHW16c to others in NCHW8c
    %1 = graph.layout_transform %p from "NCHW16c" to "NCHW8c" : tensor<1x2x7x7x16xf32> -> tensor<1x4x7x7x8xf32>
    graph.yield %1 : tensor<1x4x7x7x8xf32>
  }
  func.return %0 : tensor<1x4x7x7x8xf32>
}
// -----
func.func @unknown_channels(%x: tensor<1x?x7xf32, #graph.dims<[1, "C", 7]>>) -> tensor<1x?x7x8xf32, #graph.dims<[1, "C ceildiv 8", 7, 8]>> {
  %0 = graph.fused (%p = %x : tensor<1x?x7xf32, #graph.dims<[1, "C", 7]>>) -> (tensor<1x?x7x8xf32, #graph.dims<[1, "C ceildiv 8", 7, 8]>>) {
    // expected-error: graph.layout_transform of dimension C into blocks of 8
    %1 = graph.layout_transform %p from "NCW" to "NCW8c" : tensor<1x?x7xf32, #graph.dims<[1, "C", 7]>> -> tensor<1x?x7x8xf32, #graph.dims<[1, "C ceildiv 8", 7, 8]>>
    graph.yield %1 : tensor<1x?x7x8xf32, #graph.dims<[1, "C ceildiv 8", 7, 8]>>
  }
  func.return %0 : tensor<1x?x7x8xf32, #graph.dims<[1, "C ceildiv 8", 7, 8]>>
}
