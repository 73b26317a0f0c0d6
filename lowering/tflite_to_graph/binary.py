"""Elementwise functions of two or three tensors, comparisons, and selection by a condition."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import CONVERSIONS, Call, converts, on_codes
from stepwell.lowering.to_graph import Value, enter_binary

enter_binary(
    CONVERSIONS,
    __name__,
    (
        "add atan2 bitwise_xor:logical_xor div:divide equal floor_div:floor_divide floor_mod:remainder "
        "greater greater_equal less less_equal logical_and logical_or maximum minimum mul:multiply not_equal "
        "pow:power sub:subtract"
    ).split(),
)
on_codes("maximum minimum select select_v2")


@converts("right_shift")
def right_shift(call: Call) -> Value:
    """The bits of integers, moved towards the lowest."""
    return call.at.op(graph.ShiftRightOp(call.tensor().ssa, call.tensor("y").ssa))


@converts("squared_difference")
def squared_difference(call: Call) -> Value:
    """The square of a difference."""
    difference = call.tensor() - call.tensor("y")
    return difference * difference


@converts("add_n")
def add_n(call: Call) -> Value:
    """The sum of all operands."""
    first, *rest = call.tensors()
    for each in rest:
        first = first + each
    return first


@converts("select_v2")
def select(call: Call) -> Value:
    """An elementwise selection by a condition."""
    return call.at.where(call.codes("condition"), call.tensor("x"), call.tensor("y"))


@converts("select")
def select_rows(call: Call) -> Value:
    """As above; a condition of rank 1 chooses whole rows."""
    condition, x = call.codes("condition"), call.tensor("x")
    if condition.rank == 1 and x.rank > 1:
        condition = condition.reshape([condition.dims[0], *[1] * (x.rank - 1)])
    return call.at.where(condition, x, call.tensor("y"))
