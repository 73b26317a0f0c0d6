"""Calls of torch that their conversion refuses, in place of which simpler ones are converted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import stepwell
from stepwell.dialects.parser import parse_module

TEXT = """
func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}, %y: tensor<2x3xf32> {graph.name = "y"})
    -> (tensor<4x3xf32> {graph.name = "z"}) {
  %z = "torch.aten.slice_scatter.default"(%x, %y) {end = 4 : i64, start = 0 : i64, step = 2 : i64}
    : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return %z : tensor<4x3xf32>
}
"""
SIMPLER = """
func.func @main(%y: tensor<2x3xf32>, %x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %both = "torch.aten.cat.default"(%y, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %z = "torch.aten.sub.Tensor"(%x, %both) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %z : tensor<4x3xf32>
}
"""
REFUSED = TEXT.replace(' {graph.name = "x"}', "").replace(' {graph.name = "y"}', "")
X, Y = np.arange(12, dtype=np.float32).reshape(4, 3), np.full((2, 3), 5, np.float32)


def lowered(text: str) -> stepwell.Module:
    """The program on level 1, each of its calls decomposed into those of a text."""
    context = stepwell.Context()

    def decompose(op: Operation) -> tuple[ModuleOp, Sequence[int]]:
        return parse_module(context, text, "<simpler>"), [1, 0]

    context.decompose = decompose
    return stepwell.parse(TEXT, context=context).run("convert-torch-to-graph")


def test_simpler_calls_are_converted_in_place_of_a_refused_one() -> None:
    module = lowered(SIMPLER)
    assert "torch." not in str(module)
    np.testing.assert_array_equal(module.interpret(X, Y)[0], X - np.concatenate([Y, Y]))


def test_the_reason_is_that_of_the_call_itself() -> None:
    with pytest.raises(stepwell.StepwellError, match="a step other than 1") as caught:
        lowered(REFUSED)  # whose own call is refused as well
    assert caught.value.code == "unsupported"
