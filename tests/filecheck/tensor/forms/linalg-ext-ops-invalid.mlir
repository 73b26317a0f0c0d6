// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func private @tables(%x: tensor<8x2xf32>, %n: tensor<6x4xi64>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %e: tensor<8x1xf32>) {
  // expected-error: nodes must have 4 columns of i32, found tensor<6x4xi64>
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<8x2xf32>, tensor<6x4xi64>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  func.return
}

// -----

func.func private @result(%x: tensor<8x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %e: tensor<8x2xf32>) {
  // expected-error: result and init must be (8, 1) of f32, found tensor<8x2xf32> and tensor<8x2xf32>
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 2 largest 0 aggregate "sum" : (tensor<8x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  func.return
}

// -----

func.func private @attention_elements(%q: tensor<64x8xf16>, %e: tensor<64x8xf16>) {
  // expected-error: rows must be f32 of known size, found tensor<64x8xf16> and tensor<64x8xf16>
  %y = linalg_ext.attention %q, %q, %q into %e scale 0.5 : (tensor<64x8xf16>, tensor<64x8xf16>, tensor<64x8xf16>, tensor<64x8xf16>) -> tensor<64x8xf16>
  func.return
}

// -----

func.func private @attention_depth(%q: tensor<64x?xf32>, %v: tensor<64x8xf32>, %e: tensor<64x8xf32>) {
  // expected-error: rows must be f32 of known size, found tensor<64x?xf32> and tensor<64x8xf32>
  %y = linalg_ext.attention %q, %q, %v into %e scale 0.5 : (tensor<64x?xf32>, tensor<64x?xf32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  func.return
}

// -----

func.func private @attention_keys(%q: tensor<64x8xf32>, %v: tensor<63x8xf32>, %e: tensor<64x8xf32>) {
  // expected-error: k and v must have as many keys, found 64 and 63
  %y = linalg_ext.attention %q, %q, %v into %e scale 0.5 : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<63x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  func.return
}

// -----

func.func private @attention_mask(%q: tensor<64x8xf32>, %m: tensor<63xf32>, %e: tensor<64x8xf32>) {
  // expected-error: shapes (64, 64) and (63) do not broadcast: 64 against 63
  %y = linalg_ext.attention %q, %q, %q into %e mask %m scale 0.5 : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<63xf32>) -> tensor<64x8xf32>
  func.return
}

// -----

func.func private @attention_result(%q: tensor<64x8xf32>, %e: tensor<64x7xf32>) {
  // expected-error: result and init must be (64, 8) of f32, found tensor<64x7xf32> and tensor<64x7xf32>
  %y = linalg_ext.attention %q, %q, %q into %e scale 0.5 : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x7xf32>) -> tensor<64x7xf32>
  func.return
}

// -----

func.func private @no_groups(%q: tensor<64x8xf32>, %e: tensor<64x8xf32>) {
  // expected-error: sizes are positive numbers of a form, found groups = 0
  %y = linalg_ext.attention %q, %q, %q into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {groups = 0}>} : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  func.return
}

// -----

func.func private @negative(%q: tensor<64x8xf32>, %e: tensor<64x8xf32>) {
  // expected-error: sizes are positive numbers of a form, found queries = -8
  %y = linalg_ext.attention %q, %q, %q into %e scale 0.5 {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = -8}>} : (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  func.return
}

// -----

func.func private @winograd_tile(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) {
  // expected-error: tile must be one of [2, 4], found 3
  %y = linalg_ext.winograd_conv %x, %u into %e tile 3 pads [1, 1, 1, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return
}

// -----

func.func private @winograd_channels(%x: tensor<1x?x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) {
  // expected-error: channels must be known, found tensor<1x?x14x14x16xf32> and tensor<36x1x32x32xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] : (tensor<1x?x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return
}

// -----

func.func private @winograd_result(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) {
  // expected-error: result and init must be (1, 2, 13, 14, 16) of f32, found tensor<1x2x14x14x16xf32>
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 0, 1] : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return
}

// -----

func.func private @pool_kind(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) {
  // expected-error: kind must be max or avg, found "lp"
  %y = linalg_ext.pool %x into %e kind "lp" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return
}

// -----

func.func private @pool_open(%x: tensor<1x8x?x8xf32>, %e: tensor<1x8x5x8xf32>) {
  // expected-error: planes must be floats [N, C, H, W] of known size
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : (tensor<1x8x?x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return
}

// -----

func.func private @pool_pads(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) {
  // expected-error: expected 2 kernel sizes, 2 strides and 4 pads, found [2, 2, 3]
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1] : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return
}

// -----

func.func private @pool_windows(%x: tensor<1x8x5x8xf32>, %e: tensor<1x8x5x8xf32>) {
  // expected-error: result and init must be (1, 8, 5, 7) of f32, found tensor<1x8x5x8xf32>
  %y = linalg_ext.pool %x into %e kind "max" kernel [3, 3] strides [1, 1] pads [1, 1, 1, 0] : (tensor<1x8x5x8xf32>, tensor<1x8x5x8xf32>) -> tensor<1x8x5x8xf32>
  func.return
}

// -----

func.func private @rnn_result(%x: tensor<6x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x5xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: result and init must be (6, 1, 2, 4) of f32, found tensor<6x1x2x5xf32> and tensor<6x1x2x5xf32>
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x5xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<6x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x5xf32>, tensor<1x2x4xf32>
  func.return
}

// -----

func.func private @rnn_input(%x: tensor<6x2x9xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %y0: tensor<6x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // expected-error: w must have shape (1, 4, 9), found (1, 4, 8)
  %y, %h = linalg_ext.rnn %x, %w, %r into %y0, %h0 : tensor<6x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] : (tensor<6x2x9xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<6x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}

// -----

func.func private @resize_scales(%x: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  // expected-error: expected 2 numbers in scales, found 1
  %y = linalg_ext.resize %x into %e scales [2.0] mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

func.func private @resize_element(%x: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  // expected-error: ui4 must be stored as i8, found f32
  %y = linalg_ext.resize %x into %e of ui4 mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 extrapolation 0.0 : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

func.func private @top_k_many(%x: tensor<2x2xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi64>) {
  // expected-error: k must be at most 2, found 3
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return
}

// -----

func.func private @top_k_result(%x: tensor<2x40xf32>, %v0: tensor<2x3xf32>, %i0: tensor<2x3xi32>) {
  // expected-error: result and init must be (2, 3) of i64, found tensor<2x3xi32>
  %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true : (tensor<2x40xf32>, tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  func.return
}

// -----

func.func private @scan_axis(%x: tensor<3x258xf32>, %e: tensor<3x258xf32>) -> tensor<3x258xf32> {
  // expected-error: axis must be
  %y = linalg_ext.scan %x into %e kind "sum" axis 2 exclusive false reverse false : (tensor<3x258xf32>, tensor<3x258xf32>) -> tensor<3x258xf32>
  func.return %y : tensor<3x258xf32>
}

// -----

func.func private @nbits_rank(%x: tensor<1x5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<1x5x8xf32>) {
  // expected-error: x and the result must be matrices of known columns, found tensor<1x5x32xf32>, tensor<1x5x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 : (tensor<1x5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<1x5x8xf32>) -> tensor<1x5x8xf32>
  func.return
}

// -----

func.func private @nbits_result(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<4x8xf32>) {
  // expected-error: result and init must be (5, 8) of f32, found tensor<4x8xf32>
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func private @nbits_operands(%x: tensor<5x33xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>) {
  // expected-error: codes must be (2, 6, 4), found (2, 4, 4)
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 : (tensor<5x33xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return
}
