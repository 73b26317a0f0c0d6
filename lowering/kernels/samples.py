"""Kernels of level 2 that are compiled for practice: most ops of a network's kernels occur in them."""

from __future__ import annotations

_CONVOLUTION = """
#x = affine_map<(n, o, h, w, i, c, r, q, k) -> (n, c, h + r, w + q, k)>
#f = affine_map<(n, o, h, w, i, c, r, q, k) -> (o, c, r, q, k, i)>
#y = affine_map<(n, o, h, w, i, c, r, q, k) -> (n, o, h, w, i)>
#i = affine_map<(n, o, h, w, i) -> (n, o, h, w, i)>
#b = affine_map<(n, o, h, w, i) -> (o, i)>
func.func private @conv(%x: tensor<1x2x8x8x16xf32>, %w: tensor<2x2x3x3x16x16xf32>, %b: tensor<2x16xf32>)
    -> tensor<1x2x8x8x16xf32> attributes {sched.kernel = #sched.kernel<inputs = 3, outputs = 1>} {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<1x2x10x10x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<1x2x10x10x16xf32>) -> tensor<1x2x10x10x16xf32>
  %padded = tensor.insert_slice %x into %zeros[0, 0, 1, 1, 0] [1, 2, 8, 8, 16] [1, 1, 1, 1, 1]
    : tensor<1x2x8x8x16xf32> into tensor<1x2x10x10x16xf32>
  %e = tensor.empty() : tensor<1x2x8x8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
  %sum = linalg.generic {indexing_maps = [#x, #f, #y], iterator_types = ["parallel", "parallel", "parallel",
      "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : tensor<1x2x10x10x16xf32>, tensor<2x2x3x3x16x16xf32>)
      outs(%init : tensor<1x2x8x8x16xf32>) {
  ^bb0(%a: f32, %f: f32, %s: f32):
    %p = arith.mulf %a, %f : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<1x2x8x8x16xf32>
  %y = linalg.generic {indexing_maps = [#i, #b, #i], iterator_types = ["parallel", "parallel", "parallel",
      "parallel", "parallel"]} ins(%sum, %b : tensor<1x2x8x8x16xf32>, tensor<2x16xf32>)
      outs(%e : tensor<1x2x8x8x16xf32>) {
  ^bb0(%a: f32, %c: f32, %s: f32):
    %t = arith.addf %a, %c : f32
    %m = arith.maximumf %t, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x2x8x8x16xf32>
  func.return %y : tensor<1x2x8x8x16xf32>
}
"""
_SIGMOID = """
#i = affine_map<(m, n) -> (m, n)>
func.func private @sigmoid(%x: tensor<7x40xf32>) -> tensor<7x40xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<7x40xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<7x40xf32>) outs(%e : tensor<7x40xf32>) {
  ^bb0(%a: f32, %s: f32):
    %n = arith.negf %a : f32
    %p = math.exp %n : f32
    %d = arith.addf %p, %one : f32
    %q = arith.divf %one, %d : f32
    linalg.yield %q : f32
  } -> tensor<7x40xf32>
  func.return %y : tensor<7x40xf32>
}
"""
SAMPLES = (_CONVOLUTION, _SIGMOID)
"""Texts of modules with a kernel each, those first that save later kernels the most time."""
