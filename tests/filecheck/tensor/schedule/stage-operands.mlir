// RUN: stepwell-opt %s -p 'stage-operands{mcpu=x86-64-v4}' --split-input-file | filecheck %s

// Both operands lie along the sum: the one with the columns is turned, for 64 rows.
// CHECK-LABEL: @turned
// CHECK: %[[E:.*]] = tensor.empty() : tensor<32x48xf32>
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<48x32xf32>) outs(%[[E]] : tensor<32x48xf32>)
// CHECK: affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-SAME: ins(%a, %[[T]] : tensor<64x32xf32>, tensor<32x48xf32>)
func.func private @turned(%a: tensor<64x32xf32>, %b: tensor<48x32xf32>, %c: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x32xf32>, tensor<48x32xf32>) outs(%c : tensor<64x48xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x48xf32>
  func.return %r : tensor<64x48xf32>
}

// -----

// Rows of 2 KiB would crowd the level-1 cache: they get a register's room between them.
// CHECK-LABEL: @apart
// CHECK: %[[E:.*]] = tensor.empty() : tensor<64x528xf32>
// CHECK: %[[P:.*]] = tensor.extract_slice %[[E]][0, 0] [64, 512] [1, 1] : tensor<64x528xf32> to tensor<64x512xf32>
// CHECK: linalg.generic {{.*}} ins(%b : tensor<512x64xf32>) outs(%[[P]] : tensor<64x512xf32>)
func.func private @apart(%a: tensor<64x64xf32>, %b: tensor<512x64xf32>, %c: tensor<64x512xf32>) -> tensor<64x512xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x64xf32>, tensor<512x64xf32>) outs(%c : tensor<64x512xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  func.return %r : tensor<64x512xf32>
}

// -----

// A few rows do not pay for it; nor do rows whose number is not known.
// CHECK-LABEL: @few
// CHECK-NOT: tensor.empty
func.func private @few(%a: tensor<32x32xf32>, %b: tensor<48x32xf32>, %c: tensor<32x48xf32>) -> tensor<32x48xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<32x32xf32>, tensor<48x32xf32>) outs(%c : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x48xf32>
  func.return %r : tensor<32x48xf32>
}

// -----

// None lies along the results, `a` along the rows: the columns are turned even for a few rows.
// CHECK-LABEL: @both_turned
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<48x32xf32>)
// CHECK: ins(%a, %[[T]] : tensor<32x8xf32>, tensor<32x48xf32>)
func.func private @both_turned(%a: tensor<32x8xf32>, %b: tensor<48x32xf32>, %c: tensor<8x48xf32>) -> tensor<8x48xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<32x8xf32>, tensor<48x32xf32>) outs(%c : tensor<8x48xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x48xf32>
  func.return %r : tensor<8x48xf32>
}

// -----

// Each element of `a` is broadcast for 64 columns: it becomes f32 once. Vectors of `b` are widened as they are read.
// CHECK-LABEL: @wide
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%a : tensor<8x32xf16>) outs(%{{.*}} : tensor<8x32xf32>)
// CHECK: arith.extf
// CHECK: linalg.generic {{.*}} ins(%[[W]], %b : tensor<8x32xf32>, tensor<32x64xf16>)
// CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f16, %{{.*}}: f32):
// CHECK-NEXT: %[[V:.*]] = arith.extf %[[Y]]
// CHECK-NEXT: arith.mulf %[[X]], %[[V]]
func.func private @wide(%a: tensor<8x32xf16>, %b: tensor<32x64xf16>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x32xf16>, tensor<32x64xf16>) outs(%c : tensor<8x64xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %p = arith.extf %x : f16 to f32
    %q = arith.extf %y : f16 to f32
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  func.return %r : tensor<8x64xf32>
}

// -----

// A 1x1 convolution of stride 2: the pixels that are read are copied together, as one row for its reader.
// CHECK-LABEL: @strided
// CHECK: %[[E:.*]] = tensor.empty() : tensor<1x4x7x7x8xf32>
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, (d2 * 2), (d3 * 2), d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>]
// CHECK-SAME: ins(%x : tensor<1x4x14x14x8xf32>) outs(%[[E]] : tensor<1x4x7x7x8xf32>)
// CHECK: %[[M:.*]] = tensor.collapse_shape %[[C]] {{.*}} into tensor<1x4x49x8xf32>
// CHECK: %[[R:.*]] = tensor.expand_shape %[[M]] {{.*}} into tensor<1x4x7x7x8xf32>
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d5, d2, d3, d8)>
// CHECK-SAME: ins(%[[R]], %w : tensor<1x4x7x7x8xf32>, tensor<32x4x1x1x8x8xf32>)
func.func private @strided(%x: tensor<1x4x14x14x8xf32>, %w: tensor<32x4x1x1x8x8xf32>, %y: tensor<1x32x7x7x8xf32>) -> tensor<1x32x7x7x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, w, l, c, i, j, k) -> (n, c, h * 2 + i, w * 2 + j, k)>, affine_map<(n, o, h, w, l, c, i, j, k) -> (o, c, i, j, k, l)>, affine_map<(n, o, h, w, l, c, i, j, k) -> (n, o, h, w, l)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x14x14x8xf32>, tensor<32x4x1x1x8x8xf32>) outs(%y : tensor<1x32x7x7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x32x7x7x8xf32>
  func.return %r : tensor<1x32x7x7x8xf32>
}

// -----

// Too few results read each element to pay for a copy.
// CHECK-LABEL: @strided_few
// CHECK-NOT: tensor.empty
func.func private @strided_few(%x: tensor<1x4x14x14x8xf32>, %w: tensor<31x4x1x1x8x8xf32>, %y: tensor<1x31x7x7x8xf32>) -> tensor<1x31x7x7x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, w, l, c, i, j, k) -> (n, c, h * 2 + i, w * 2 + j, k)>, affine_map<(n, o, h, w, l, c, i, j, k) -> (o, c, i, j, k, l)>, affine_map<(n, o, h, w, l, c, i, j, k) -> (n, o, h, w, l)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x14x14x8xf32>, tensor<31x4x1x1x8x8xf32>) outs(%y : tensor<1x31x7x7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x31x7x7x8xf32>
  func.return %r : tensor<1x31x7x7x8xf32>
}

// -----

// A window of several points has no gaps that a copy would leave out.
// CHECK-LABEL: @window
// CHECK-NOT: tensor.empty
func.func private @window(%x: tensor<1x4x15x15x8xf32>, %w: tensor<32x4x3x3x8x8xf32>, %y: tensor<1x32x7x7x8xf32>) -> tensor<1x32x7x7x8xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, w, l, c, i, j, k) -> (n, c, h * 2 + i, w * 2 + j, k)>, affine_map<(n, o, h, w, l, c, i, j, k) -> (o, c, i, j, k, l)>, affine_map<(n, o, h, w, l, c, i, j, k) -> (n, o, h, w, l)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x4x15x15x8xf32>, tensor<32x4x3x3x8x8xf32>) outs(%y : tensor<1x32x7x7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x32x7x7x8xf32>
  func.return %r : tensor<1x32x7x7x8xf32>
}
