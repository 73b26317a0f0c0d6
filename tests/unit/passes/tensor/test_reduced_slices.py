"""Slices with fewer dimensions than their source, under vectors: rows, columns and every second element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepwell as sw

TEXT = """
func.func @main(%x: tensor<40x70xf32>, %w: tensor<NxF>) -> tensor<NxF> {
  %y = func.call @k(%x, %w) : (tensor<40x70xf32>, tensor<NxF>) -> tensor<NxF>
  func.return %y : tensor<NxF>
}
func.func private @k(%x: tensor<40x70xf32>, %w: tensor<NxF>) -> tensor<NxF> attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1>} {
  %r = tensor.extract_slice %x SLICE : tensor<40x70xf32> to tensor<NxF>
  %e = tensor.empty() : tensor<NxF>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%r, %w : tensor<NxF>, tensor<NxF>) outs(%e : tensor<NxF>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<NxF>
  func.return %y : tensor<NxF>
}
"""  # noqa: E501


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[2, 3] [1, 67] [1, 1]", np.s_[2, 3:70]),
        ("[2, 3] [37, 1] [1, 1]", np.s_[2:39, 3]),
        ("[2, 1] [1, 30] [1, 2]", np.s_[2, 1:61:2]),
        ("[39, 69] [1, 1] [1, 1]", np.s_[39, 69:]),
    ],
)
def test_products_with_a_slice_of_fewer_dimensions(text: str, part: Any) -> None:
    x: Any = np.random.default_rng(0).standard_normal((40, 70)).astype(np.float32)
    w: Any = np.arange(1, 1 + x[part].size, dtype=np.float32)
    program = TEXT.replace("SLICE", text).replace("NxF", f"{w.size}xf32")
    found: Any = sw.parse(program).compile(target="x86-64-v3", threads=1)(x, w)
    np.testing.assert_array_equal(found, x[part] * w)
