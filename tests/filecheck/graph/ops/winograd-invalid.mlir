// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func @points(%x: tensor<1x1x8x8x16xf32>, %u: tensor<16x1x16x16xf32>) {
  // expected-error: u must be [36, panels, 16, panel] with a multiple of 16 results, found (16, 1, 16, 16)
  %0 = graph.winograd_conv %x, %u tile 4 pads [1, 1, 1, 1] : (tensor<1x1x8x8x16xf32>, tensor<16x1x16x16xf32>) -> tensor<1x1x8x8x16xf32>
  func.return
}

// -----

func.func @tile(%x: tensor<1x1x8x8x16xf32>, %u: tensor<25x1x16x16xf32>) {
  // expected-error: tile must be one of [2, 4], found 3
  %0 = graph.winograd_conv %x, %u tile 3 pads [1, 1, 1, 1] : (tensor<1x1x8x8x16xf32>, tensor<25x1x16x16xf32>) -> tensor<1x1x8x8x16xf32>
  func.return
}

// -----

func.func @plain(%x: tensor<1x16x8x8xf32>, %u: tensor<16x1x16x16xf32>) {
  // expected-error: x must be [N, C / b, H, W, b], found (1, 16, 8, 8)
  %0 = graph.winograd_conv %x, %u tile 2 pads [1, 1, 1, 1] : (tensor<1x16x8x8xf32>, tensor<16x1x16x16xf32>) -> tensor<1x16x8x8xf32>
  func.return
}

// -----

func.func @pads(%x: tensor<1x1x8x8x16xf32>, %u: tensor<16x1x16x16xf32>) {
  // expected-error: pads must be 4 numbers that are not negative, found [1, 1]
  %0 = graph.winograd_conv %x, %u tile 2 pads [1, 1] : (tensor<1x1x8x8x16xf32>, tensor<16x1x16x16xf32>) -> tensor<1x1x8x8x16xf32>
  func.return
}

// -----

func.func @pairs(%x: tensor<1x1x8x8x16xf32>, %u: tensor<16x1x16x16xi32>) {
  // expected-error: u must be [16, panels, 8, panel] with a multiple of 16 results, found (16, 1, 16, 16)
  %0 = graph.winograd_conv %x, %u tile 2 pads [1, 1, 1, 1] : (tensor<1x1x8x8x16xf32>, tensor<16x1x16x16xi32>) -> tensor<1x1x8x8x16xf32>
  func.return
}

// -----

func.func @elements(%x: tensor<1x1x8x8x16xf32>, %u: tensor<16x1x8x16xi16>) {
  // expected-error: elements must be f32, or pairs of bf16 as i32 in u
  %0 = graph.winograd_conv %x, %u tile 2 pads [1, 1, 1, 1] : (tensor<1x1x8x8x16xf32>, tensor<16x1x8x16xi16>) -> tensor<1x1x8x8x16xf32>
  func.return
}
