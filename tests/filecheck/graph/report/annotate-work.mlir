// RUN: stepwell-opt %s -p annotate-work | filecheck %s

// CHECK-LABEL: @epilogue
func.func @epilogue(%x: tensor<?x8xf32, #graph.dims<["N", 8]>>, %w: tensor<8x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "51 * N", graph.bytes = "44 * N + 96"}
  %y = graph.fused (%a = %x : tensor<?x8xf32, #graph.dims<["N", 8]>>, %b = %w : tensor<8x3xf32>) -> (tensor<?x3xf32, #graph.dims<["N", 3]>>) {
    %p = graph.matmul %a, %b : (tensor<?x8xf32, #graph.dims<["N", 8]>>, tensor<8x3xf32>) -> tensor<?x3xf32, #graph.dims<["N", 3]>>
    %r = graph.relu %p : tensor<?x3xf32, #graph.dims<["N", 3]>> -> tensor<?x3xf32, #graph.dims<["N", 3]>>
    graph.yield %r : tensor<?x3xf32, #graph.dims<["N", 3]>>
  }
  func.return %y : tensor<?x3xf32, #graph.dims<["N", 3]>>
}

// Winograd's algorithm counts as the convolution that it stands for: 2 * 9 * 32 for each of 14 * 14 * 32.
// CHECK-LABEL: @winograd
func.func @winograd(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "3612672", graph.bytes = "197632", graph.arithmetic = "winograd"}
  %0 = graph.fused (%a = %x : tensor<1x2x14x14x16xf32>, %b = %u : tensor<36x1x32x32xf32>) -> (tensor<1x2x14x14x16xf32>) {
    %y = graph.winograd_conv %a, %b tile 4 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>) -> tensor<1x2x14x14x16xf32>
    graph.yield %y : tensor<1x2x14x14x16xf32>
  }
  func.return %0 : tensor<1x2x14x14x16xf32>
}

// Products of integers, as bytes and as words of four: 2 * 8 * 64 * 32 of each.
// CHECK-LABEL: @integers
func.func @integers(%x: tensor<8x64xui8>, %w: tensor<64x32xi8>, %v: tensor<8x16xi32>, %u: tensor<2x16x16xi32>) -> (tensor<8x32xi32>, tensor<8x32xi32>) {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "32768", graph.bytes = "3584", graph.arithmetic = "integer"}
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "32768", graph.bytes = "3584", graph.arithmetic = "integer"}
  %0 = graph.fused (%a = %x : tensor<8x64xui8>, %b = %w : tensor<64x32xi8>) -> (tensor<8x32xi32>) {
    %y = graph.matmul_integer %a, %b : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
    graph.yield %y : tensor<8x32xi32>
  }
  %1 = graph.fused (%a = %v : tensor<8x16xi32>, %b = %u : tensor<2x16x16xi32>) -> (tensor<8x32xi32>) {
    %y = graph.matmul_integer %a, %b : (tensor<8x16xi32>, tensor<2x16x16xi32>) -> tensor<8x32xi32>
    graph.yield %y : tensor<8x32xi32>
  }
  func.return %0, %1 : tensor<8x32xi32>, tensor<8x32xi32>
}

// CHECK-LABEL: @convolved
func.func @convolved(%x: tensor<1x56x56x16xi32>, %w: tensor<4x3x3x16x32xi32>) -> tensor<1x56x56x128xi32> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "462422016",
  // CHECK-SAME: graph.arithmetic = "integer"}
  %0 = graph.fused (%a = %x : tensor<1x56x56x16xi32>, %b = %w : tensor<4x3x3x16x32xi32>) -> (tensor<1x56x56x128xi32>) {
    %y = graph.conv_integer %a, %b strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] border 3 data_layout "NHWC" kernel_layout "OHWI32o" : (tensor<1x56x56x16xi32>, tensor<4x3x3x16x32xi32>) -> tensor<1x56x56x128xi32>
    graph.yield %y : tensor<1x56x56x128xi32>
  }
  func.return %0 : tensor<1x56x56x128xi32>
}

// A recurrent layer takes its weights once a step and row: 2 * 5 * 2 * (16 * 8 + 16 * 4).
// CHECK-LABEL: @recurrent
func.func @recurrent(%x: tensor<5x2x8xf32>, %w: tensor<1x16x8xf32>, %r: tensor<1x16x4xf32>) -> tensor<5x1x2x4xf32> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "3840",
  %0 = graph.fused (%a = %x : tensor<5x2x8xf32>, %b = %w : tensor<1x16x8xf32>, %c = %r : tensor<1x16x4xf32>) -> (tensor<5x1x2x4xf32>) {
    %y, %h, %l = graph.rnn %a, %b, %c cell "lstm" direction "forward" activations ["sigmoid", "tanh", "tanh"] alphas [0.0, 0.0, 0.0] betas [0.0, 0.0, 0.0] : (tensor<5x2x8xf32>, tensor<1x16x8xf32>, tensor<1x16x4xf32>) -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
    graph.yield %y : tensor<5x1x2x4xf32>
  }
  func.return %0 : tensor<5x1x2x4xf32>
}

// Of a table only what is gathered is read.
// CHECK-LABEL: @lookup
func.func @lookup(%table: tensor<1000x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // CHECK: graph.fused
  // CHECK-SAME: {graph.flops = "0", graph.bytes = "80"}
  %y = graph.fused (%t = %table : tensor<1000x4xf32>, %j = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
    %g = graph.gather %t, %j axis 0 batch_dims 0 bounds "clip" : (tensor<1000x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    graph.yield %g : tensor<2x4xf32>
  }
  func.return %y : tensor<2x4xf32>
}
