// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @winograd
func.func @winograd(%x: tensor<?x2x14x15x16xf32, #graph.dims<["N", 2, 14, 15, 16]>>, %u: tensor<36x2x32x32xf32>) {
  // CHECK: graph.winograd_conv %x, %u tile 4 pads [1, 0, 1, 0] : ({{.*}}) -> tensor<?x4x14x13x16xf32, #graph.dims<["N", 4, 14, 13, 16]>>
  %0 = graph.winograd_conv %x, %u tile 4 pads [1, 0, 1, 0] : (tensor<?x2x14x15x16xf32, #graph.dims<["N", 2, 14, 15, 16]>>, tensor<36x2x32x32xf32>) -> tensor<?x4x14x13x16xf32, #graph.dims<["N", 4, 14, 13, 16]>>
  func.return
}

// CHECK-LABEL: @pairs
func.func @pairs(%x: tensor<1x2x14x14x16xf32>, %u: tensor<16x2x16x32xi32>) {
  // CHECK: graph.winograd_conv %x, %u tile 2 pads [1, 1, 1, 1] : ({{.*}}) -> tensor<1x4x14x14x16xf32>
  %0 = graph.winograd_conv %x, %u tile 2 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<16x2x16x32xi32>) -> tensor<1x4x14x14x16xf32>
  func.return
}
