"""The canonical text of kernels: equal for equal kernels alone, and read back as the same kernel."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.kernel_object import canonical_text, text_of

KERNEL = """
#map = affine_map<(i, j) -> (j, i)>
func.func @k0(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, f32, i64)
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>, note = "a\\"b",
                one = "1", other = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#map, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x4xf32>
  func.return %y, %zero, %one : tensor<8x4xf32>, f32, i64
}
"""


def text(kernel: str) -> str:
    (function,) = parse_module(StepwellContext(), kernel).ops
    assert isinstance(function, FuncOp)
    return canonical_text(function)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.0 : f32", "-0.0 : f32"),
        ("constant 1 : i64", "constant 2 : i64"),
        ("(i, j) -> (j, i)", "(i, j) -> (j, i + 1)"),
        ('note = "a', 'note = "b'),
        ('one = "1"', "one = 1 : i64"),
        ("other = 1 : i64", "other = true"),
    ],
)
def test_kernels_that_differ_have_other_texts(old: str, new: str) -> None:
    assert KERNEL.replace(old, new) != KERNEL
    first, second = text(KERNEL), text(KERNEL.replace(old, new))
    assert first != second
    assert text(KERNEL) == first and text(KERNEL.replace(old, new)) == second  # texts that are known by now


def test_names_of_values_and_of_the_kernel_do_not_count() -> None:
    assert text(KERNEL) == text(KERNEL.replace("%x", "%input").replace("@k0", "@k7"))


def test_it_is_read_back_as_the_same_kernel() -> None:
    again = text_of("k9", text(KERNEL)).removeprefix("builtin.module {").removesuffix("}")
    assert text(again) == text(KERNEL)
