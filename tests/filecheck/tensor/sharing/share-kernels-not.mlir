// RUN: stepwell-opt %s -p 'share-kernels{mcpu=x86-64-v4}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'share-kernels{mcpu=x86-64-v4}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix REMARK

// Lanes are along the extents that differ.
// CHECK: func.call @k0(
// CHECK: func.call @k1(
// CHECK: func.call @k2(
func.func @main(%a0: tensor<32xf32>, %a1: tensor<64xf32>, %a2: tensor<96xf32>) -> (tensor<32xf32>, tensor<64xf32>, tensor<96xf32>) {
  %y0 = func.call @k0(%a0) : (tensor<32xf32>) -> tensor<32xf32>
  %y1 = func.call @k1(%a1) : (tensor<64xf32>) -> tensor<64xf32>
  %y2 = func.call @k2(%a2) : (tensor<96xf32>) -> tensor<96xf32>
  func.return %y0, %y1, %y2 : tensor<32xf32>, tensor<64xf32>, tensor<96xf32>
}
func.func private @k0(%x: tensor<32xf32>) -> tensor<32xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%v: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %v, %zero : f32
    linalg.yield %m : f32
  } -> tensor<32xf32>
  func.return %r : tensor<32xf32>
}
func.func private @k1(%x: tensor<64xf32>) -> tensor<64xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %v, %zero : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  func.return %r : tensor<64xf32>
}
func.func private @k2(%x: tensor<96xf32>) -> tensor<96xf32> attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<96xf32>) outs(%e : tensor<96xf32>) {
  ^bb0(%v: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %v, %zero : f32
    linalg.yield %m : f32
  } -> tensor<96xf32>
  func.return %r : tensor<96xf32>
}

// -----

// The tiles depend on the extents: 2 of 4 and of 6, 1 of 7.
// REMARK: not shared: @k0, @k1: fewer than 3 of 3 have this schedule
// REMARK: not shared: @k2: fewer than 3 of 3 have this schedule
// CHECK: func.call @k0(
// CHECK: func.call @k1(
// CHECK: func.call @k2(
func.func @main(%a0: tensor<4x1x16xf32>, %a1: tensor<4x16xf32>, %a2: tensor<6x1x16xf32>, %a3: tensor<6x16xf32>, %a4: tensor<7x1x16xf32>, %a5: tensor<7x16xf32>) -> (tensor<4x1x16xf32>, tensor<6x1x16xf32>, tensor<7x1x16xf32>) {
  %y0 = func.call @k0(%a0, %a1) : (tensor<4x1x16xf32>, tensor<4x16xf32>) -> tensor<4x1x16xf32>
  %y1 = func.call @k1(%a2, %a3) : (tensor<6x1x16xf32>, tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y2 = func.call @k2(%a4, %a5) : (tensor<7x1x16xf32>, tensor<7x16xf32>) -> tensor<7x1x16xf32>
  func.return %y0, %y1, %y2 : tensor<4x1x16xf32>, tensor<6x1x16xf32>, tensor<7x1x16xf32>
}
func.func private @k0(%x: tensor<4x1x16xf32>, %b: tensor<4x16xf32>) -> tensor<4x1x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<4x1x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<4x1x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x1x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<4x1x16xf32>
  func.return %r : tensor<4x1x16xf32>
}
func.func private @k1(%x: tensor<6x1x16xf32>, %b: tensor<6x16xf32>) -> tensor<6x1x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<6x1x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<6x1x16xf32>, tensor<6x16xf32>) outs(%e : tensor<6x1x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<6x1x16xf32>
  func.return %r : tensor<6x1x16xf32>
}
func.func private @k2(%x: tensor<7x1x16xf32>, %b: tensor<7x16xf32>) -> tensor<7x1x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<7x1x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<7x1x16xf32>, tensor<7x16xf32>) outs(%e : tensor<7x1x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<7x1x16xf32>
  func.return %r : tensor<7x1x16xf32>
}

// -----

// The panels of the second operand are as long as the sum.
// CHECK: func.call @k0(
// CHECK: func.call @k1(
// CHECK: func.call @k2(
func.func @main(%a0: tensor<14x16xf32>, %a1: tensor<2x16x16xf32>, %a2: tensor<14x32xf32>, %a3: tensor<2x32x16xf32>, %a4: tensor<14x48xf32>, %a5: tensor<2x48x16xf32>) -> (tensor<14x2x16xf32>, tensor<14x2x16xf32>, tensor<14x2x16xf32>) {
  %y0 = func.call @k0(%a0, %a1) : (tensor<14x16xf32>, tensor<2x16x16xf32>) -> tensor<14x2x16xf32>
  %y1 = func.call @k1(%a2, %a3) : (tensor<14x32xf32>, tensor<2x32x16xf32>) -> tensor<14x2x16xf32>
  %y2 = func.call @k2(%a4, %a5) : (tensor<14x48xf32>, tensor<2x48x16xf32>) -> tensor<14x2x16xf32>
  func.return %y0, %y1, %y2 : tensor<14x2x16xf32>, tensor<14x2x16xf32>, tensor<14x2x16xf32>
}
func.func private @k0(%a: tensor<14x16xf32>, %b: tensor<2x16x16xf32>) -> tensor<14x2x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x2x16xf32>) -> tensor<14x2x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, o, n, k) -> (m, k)>, affine_map<(m, o, n, k) -> (o, k, n)>, affine_map<(m, o, n, k) -> (m, o, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<14x16xf32>, tensor<2x16x16xf32>) outs(%f : tensor<14x2x16xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x2x16xf32>
  func.return %r : tensor<14x2x16xf32>
}
func.func private @k1(%a: tensor<14x32xf32>, %b: tensor<2x32x16xf32>) -> tensor<14x2x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x2x16xf32>) -> tensor<14x2x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, o, n, k) -> (m, k)>, affine_map<(m, o, n, k) -> (o, k, n)>, affine_map<(m, o, n, k) -> (m, o, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<14x32xf32>, tensor<2x32x16xf32>) outs(%f : tensor<14x2x16xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x2x16xf32>
  func.return %r : tensor<14x2x16xf32>
}
func.func private @k2(%a: tensor<14x48xf32>, %b: tensor<2x48x16xf32>) -> tensor<14x2x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x2x16xf32>) -> tensor<14x2x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, o, n, k) -> (m, k)>, affine_map<(m, o, n, k) -> (o, k, n)>, affine_map<(m, o, n, k) -> (m, o, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<14x48xf32>, tensor<2x48x16xf32>) outs(%f : tensor<14x2x16xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x2x16xf32>
  func.return %r : tensor<14x2x16xf32>
}

// -----

// Two are not worth it.
// CHECK: func.call @k0(
// CHECK: func.call @k1(
func.func @main(%a0: tensor<4x14x16xf32>, %a1: tensor<4x16x32xf32>, %a2: tensor<6x14x16xf32>, %a3: tensor<6x16x32xf32>) -> (tensor<14x32xf32>, tensor<14x32xf32>) {
  %y0 = func.call @k0(%a0, %a1) : (tensor<4x14x16xf32>, tensor<4x16x32xf32>) -> tensor<14x32xf32>
  %y1 = func.call @k1(%a2, %a3) : (tensor<6x14x16xf32>, tensor<6x16x32xf32>) -> tensor<14x32xf32>
  func.return %y0, %y1 : tensor<14x32xf32>, tensor<14x32xf32>
}
func.func private @k0(%a: tensor<4x14x16xf32>, %b: tensor<4x16x32xf32>) -> tensor<14x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x32xf32>) -> tensor<14x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, ko, ki) -> (ko, m, ki)>, affine_map<(m, n, ko, ki) -> (ko, ki, n)>, affine_map<(m, n, ko, ki) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<4x14x16xf32>, tensor<4x16x32xf32>) outs(%f : tensor<14x32xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x32xf32>
  func.return %r : tensor<14x32xf32>
}
func.func private @k1(%a: tensor<6x14x16xf32>, %b: tensor<6x16x32xf32>) -> tensor<14x32xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<14x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<14x32xf32>) -> tensor<14x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, ko, ki) -> (ko, m, ki)>, affine_map<(m, n, ko, ki) -> (ko, ki, n)>, affine_map<(m, n, ko, ki) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<6x14x16xf32>, tensor<6x16x32xf32>) outs(%f : tensor<14x32xf32>) {
  ^bb0(%x: f32, %w: f32, %acc: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<14x32xf32>
  func.return %r : tensor<14x32xf32>
}

// -----

// The middle loop is none of the outer ones.
// CHECK: func.call @k0(
// CHECK: func.call @k1(
// CHECK: func.call @k2(
func.func @main(%a0: tensor<4x3x16xf32>, %a1: tensor<4x16xf32>, %a2: tensor<4x5x16xf32>, %a3: tensor<4x16xf32>, %a4: tensor<4x7x16xf32>, %a5: tensor<4x16xf32>) -> (tensor<4x3x16xf32>, tensor<4x5x16xf32>, tensor<4x7x16xf32>) {
  %y0 = func.call @k0(%a0, %a1) : (tensor<4x3x16xf32>, tensor<4x16xf32>) -> tensor<4x3x16xf32>
  %y1 = func.call @k1(%a2, %a3) : (tensor<4x5x16xf32>, tensor<4x16xf32>) -> tensor<4x5x16xf32>
  %y2 = func.call @k2(%a4, %a5) : (tensor<4x7x16xf32>, tensor<4x16xf32>) -> tensor<4x7x16xf32>
  func.return %y0, %y1, %y2 : tensor<4x3x16xf32>, tensor<4x5x16xf32>, tensor<4x7x16xf32>
}
func.func private @k0(%x: tensor<4x3x16xf32>, %b: tensor<4x16xf32>) -> tensor<4x3x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<4x3x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<4x3x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x3x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<4x3x16xf32>
  func.return %r : tensor<4x3x16xf32>
}
func.func private @k1(%x: tensor<4x5x16xf32>, %b: tensor<4x16xf32>) -> tensor<4x5x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<4x5x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<4x5x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x5x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<4x5x16xf32>
  func.return %r : tensor<4x5x16xf32>
}
func.func private @k2(%x: tensor<4x7x16xf32>, %b: tensor<4x16xf32>) -> tensor<4x7x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %e = tensor.empty() : tensor<4x7x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, w, l) -> (c, w, l)>, affine_map<(c, w, l) -> (c, l)>, affine_map<(c, w, l) -> (c, w, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<4x7x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x7x16xf32>) {
  ^bb0(%v: f32, %n: f32, %o: f32):
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  } -> tensor<4x7x16xf32>
  func.return %r : tensor<4x7x16xf32>
}
