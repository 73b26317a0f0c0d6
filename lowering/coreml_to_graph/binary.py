"""Elementwise functions of two or three tensors, comparisons, and selection by a condition."""

from __future__ import annotations

from xdsl.dialects.builtin import i1

from stepwell.lowering.coreml_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value, enter_binary

enter_binary(
    CONVERSIONS,
    __name__,
    (
        "add equal floor_div:floor_divide greater greater_equal less less_equal logical_and logical_or "
        "logical_xor maximum minimum mod:remainder mul:multiply not_equal pow:power real_div:divide "
        "sub:subtract"
    ).split(),
)


@converts("select")
def select(call: Call) -> Value:
    """An elementwise selection by a condition."""
    condition = call.tensor("cond")
    return call.at.where(condition.cast(i1), call.tensor("a"), call.tensor("b"))
