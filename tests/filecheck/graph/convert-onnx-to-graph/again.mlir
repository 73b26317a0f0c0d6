// RUN: stepwell-opt %s -p convert-onnx-to-graph --split-input-file | filecheck %s

// A program that is on level 1 already, with kernels: sizes are those of the product, whatever its operand is stored as.
// CHECK-LABEL: @packed
// CHECK: graph.assert "K" equals "64"
// CHECK-NEXT: graph.fused
// CHECK-NOT: graph.assert
func.func @packed(%x: tensor<?x8x?xf32, #graph.dims<["N", 8, "K"]>>, %w: tensor<2x64x16xf32>) -> tensor<?x8x32xf32, #graph.dims<["N", 8, 32]>> {
  %y = graph.fused (%a = %x : tensor<?x8x?xf32, #graph.dims<["N", 8, "K"]>>, %b = %w : tensor<2x64x16xf32>) -> (tensor<?x8x32xf32, #graph.dims<["N", 8, 32]>>) {
    %p = graph.matmul %a, %b packing 16 : (tensor<?x8x?xf32, #graph.dims<["N", 8, "K"]>>, tensor<2x64x16xf32>) -> tensor<?x8x32xf32, #graph.dims<["N", 8, 32]>>
    graph.yield %p : tensor<?x8x32xf32, #graph.dims<["N", 8, 32]>>
  }
  func.return %y : tensor<?x8x32xf32, #graph.dims<["N", 8, 32]>>
}

// -----

// CHECK-LABEL: @words
// CHECK: graph.assert "K" equals "16"
// CHECK-NOT: graph.assert
// CHECK: graph.matmul_integer
func.func @words(%x: tensor<?x8x?xi32, #graph.dims<["N", 8, "K"]>>, %w: tensor<2x16x16xi32>) -> tensor<?x8x32xi32, #graph.dims<["N", 8, 32]>> {
  %y = graph.matmul_integer %x, %w : (tensor<?x8x?xi32, #graph.dims<["N", 8, "K"]>>, tensor<2x16x16xi32>) -> tensor<?x8x32xi32, #graph.dims<["N", 8, 32]>>
  func.return %y : tensor<?x8x32xi32, #graph.dims<["N", 8, 32]>>
}

// -----

// Channels are last, and 5 are no size of theirs.
// CHECK-LABEL: @channels_last
// CHECK: graph.assert "C" equals "3"
// CHECK-NOT: graph.assert
// CHECK: graph.conv
func.func @channels_last(%x: tensor<1x?x5x?xf32, #graph.dims<[1, "H", 5, "C"]>>, %w: tensor<4x3x1x1xf32>) -> tensor<1x?x5x4xf32, #graph.dims<[1, "H", 5, 4]>> {
  %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] data_layout "NHWC" : (tensor<1x?x5x?xf32, #graph.dims<[1, "H", 5, "C"]>>, tensor<4x3x1x1xf32>) -> tensor<1x?x5x4xf32, #graph.dims<[1, "H", 5, 4]>>
  func.return %y : tensor<1x?x5x4xf32, #graph.dims<[1, "H", 5, 4]>>
}

// -----

// A check that is there is not made twice.
// CHECK-LABEL: @checked
// CHECK: graph.assert "K" equals "4"
// CHECK-NOT: graph.assert
// CHECK: graph.matmul
func.func @checked(%x: tensor<?x?xf32, #graph.dims<["N", "K"]>>, %w: tensor<4x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>> {
  graph.assert "K" equals "4", "sizes"
  %y = graph.matmul %x, %w : (tensor<?x?xf32, #graph.dims<["N", "K"]>>, tensor<4x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
  func.return %y : tensor<?x3xf32, #graph.dims<["N", 3]>>
}
