// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: @trees
func.func private @trees(%x: tensor<?x2xf32>, %n: tensor<6x4xi32>, %t: tensor<2x5xi32>, %w: tensor<4x1xf32>, %c: tensor<2x2xi32>, %m: tensor<2xi64>, %e: tensor<?x1xf32>) {
  // CHECK: linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "min" flips {sched.schedule = #sched.schedule<form = "bits", sizes = {rows = 8, least = 2}>} :
  %y = linalg_ext.tree_ensemble %x, %n, %t, %w into %e bits %c, %m depth 1 leaves 2 largest 0 aggregate "min" flips {sched.schedule = #sched.schedule<sizes = {rows = 8, least = 2}, form = "bits">} : (tensor<?x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<?x1xf32>, tensor<2x2xi32>, tensor<2xi64>) -> tensor<?x1xf32>
  // CHECK: linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "walk">} :
  %z = linalg_ext.tree_ensemble %x, %n, %t, %w into %e depth 1 leaves 2 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "walk">} : (tensor<?x2xf32>, tensor<6x4xi32>, tensor<2x5xi32>, tensor<4x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  func.return
}

// CHECK-LABEL: @attention
func.func private @attention(%q: tensor<2x8x?x8xf32>, %k: tensor<2x1x50x8xf32>, %v: tensor<50x4xf32>, %m: tensor<?x50xf32>, %e: tensor<2x8x?x4xf32>) {
  // CHECK: linalg_ext.attention %q, %k, %v into %e mask %m scale 1.250000e-01 zero_masked {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 16}>} :
  %y = linalg_ext.attention %q, %k, %v into %e mask %m scale 0.125 zero_masked {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 16}>} : (tensor<2x8x?x8xf32>, tensor<2x1x50x8xf32>, tensor<50x4xf32>, tensor<2x8x?x4xf32>, tensor<?x50xf32>) -> tensor<2x8x?x4xf32>
  // CHECK: linalg_ext.attention %q, %k, %v into %e scale 1.250000e-01 :
  %z = linalg_ext.attention %q, %k, %v into %e scale 0.125 : (tensor<2x8x?x8xf32>, tensor<2x1x50x8xf32>, tensor<50x4xf32>, tensor<2x8x?x4xf32>) -> tensor<2x8x?x4xf32>
  func.return
}

// CHECK-LABEL: @winograd
func.func private @winograd(%x: tensor<1x2x14x14x16xf32>, %u: tensor<36x1x32x32xf32>, %e: tensor<1x2x14x14x16xf32>) {
  // CHECK: linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "blocks", sizes = {tiles = 4, groups = 2}>} :
  %y = linalg_ext.winograd_conv %x, %u into %e tile 4 pads [1, 1, 1, 1] {sched.schedule = #sched.schedule<form = "blocks", sizes = {tiles = 4, groups = 2}>} : (tensor<1x2x14x14x16xf32>, tensor<36x1x32x32xf32>, tensor<1x2x14x14x16xf32>) -> tensor<1x2x14x14x16xf32>
  func.return
}

// CHECK-LABEL: @pool
func.func private @pool(%x: tensor<?x8x5x8xf16>, %e: tensor<?x8x3x4xf16>) {
  // CHECK: linalg_ext.pool %x into %e kind "avg" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] with_pads {sched.schedule = #sched.schedule<form = "rows", sizes = {lanes = 8}>} :
  %y = linalg_ext.pool %x into %e kind "avg" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] with_pads {sched.schedule = #sched.schedule<form = "rows", sizes = {lanes = 8}>} : (tensor<?x8x5x8xf16>, tensor<?x8x3x4xf16>) -> tensor<?x8x3x4xf16>
  func.return
}

// CHECK-LABEL: @rnn
func.func private @rnn(%x: tensor<?x2x8xf32>, %w: tensor<1x4x8xf32>, %r: tensor<1x4x4xf32>, %n: tensor<2xi32>, %y0: tensor<?x1x2x4xf32>, %h0: tensor<1x2x4xf32>) {
  // CHECK: linalg_ext.rnn %x, %w, %r lengths %n : tensor<2xi32> h0 %h0 : tensor<1x2x4xf32> into %y0, %h0 : tensor<?x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.000000e+00] betas [0.000000e+00] clip 5.000000e-01 {sched.schedule = #sched.schedule<form = "whole">} :
  %y, %h = linalg_ext.rnn %x, %w, %r lengths %n : tensor<2xi32> h0 %h0 : tensor<1x2x4xf32> into %y0, %h0 : tensor<?x1x2x4xf32>, tensor<1x2x4xf32> cell "rnn" direction "forward" activations ["tanh"] alphas [0.0] betas [0.0] clip 0.5 {sched.schedule = #sched.schedule<form = "whole">} : (tensor<?x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<?x1x2x4xf32>, tensor<1x2x4xf32>
  func.return
}

// CHECK-LABEL: @resize
// CHECK: linalg_ext.resize %x into %e of ui8 scales [2.000000e+00, 1.000000e+00] mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.000000e+00 antialias extrapolation 0.000000e+00 {sched.schedule = #sched.schedule<form = "last-axis-first">} : (tensor<4x6xi8>, tensor<8x6xi8>) -> tensor<8x6xi8>
func.func private @resize(%x: tensor<4x6xi8>) -> tensor<8x6xi8> {
  %e = tensor.empty() : tensor<8x6xi8>
  %y = linalg_ext.resize %x into %e of ui8 scales [2.0, 1.0] mode "linear" coordinate "half_pixel" nearest "floor" cubic_a 0.0 antialias extrapolation 0.0 {sched.schedule = #sched.schedule<form = "last-axis-first">} : (tensor<4x6xi8>, tensor<8x6xi8>) -> tensor<8x6xi8>
  func.return %y : tensor<8x6xi8>
}

// CHECK-LABEL: @ordering
func.func private @ordering(%x: tensor<2x40xi8>, %v0: tensor<2x3xi8>, %i0: tensor<2x3xi64>) {
  // CHECK: linalg_ext.top_k %x into %v0, %i0 of ui8 axis 1 largest true {sched.schedule = #sched.schedule<form = "rounds", sizes = {block = 8}>} : (tensor<2x40xi8>, tensor<2x3xi8>, tensor<2x3xi64>) -> (tensor<2x3xi8>, tensor<2x3xi64>)
  %v, %i = linalg_ext.top_k %x into %v0, %i0 of ui8 axis 1 largest true {sched.schedule = #sched.schedule<form = "rounds", sizes = {block = 8}>} : (tensor<2x40xi8>, tensor<2x3xi8>, tensor<2x3xi64>) -> (tensor<2x3xi8>, tensor<2x3xi64>)
  // CHECK: linalg_ext.scan %x into %x kind "max" axis 1 exclusive true reverse false : (tensor<2x40xi8>, tensor<2x40xi8>) -> tensor<2x40xi8>
  %y = linalg_ext.scan %x into %x kind "max" axis 1 exclusive true reverse false : (tensor<2x40xi8>, tensor<2x40xi8>) -> tensor<2x40xi8>
  func.return
}

// CHECK-LABEL: @nbits
func.func private @nbits(%x: tensor<5x32xf32>, %c: tensor<2x4x4xi32>, %s: tensor<2x2x4xf32>, %e: tensor<5x8xf32>, %z: tensor<2x2x4xi8>) {
  // CHECK: linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {depth = 16}>} :
  %y = linalg_ext.matmul_nbits %x, %c, %s into %e bits 4 block 16 {sched.schedule = #sched.schedule<form = "panels", sizes = {depth = 16}>} : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  // CHECK: linalg_ext.matmul_nbits %x, %c, %s into %e zero_points %z : tensor<2x2x4xi8> bits 4 block 16 :
  %v = linalg_ext.matmul_nbits %x, %c, %s into %e zero_points %z : tensor<2x2x4xi8> bits 4 block 16 : (tensor<5x32xf32>, tensor<2x4x4xi32>, tensor<2x2x4xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  func.return
}
