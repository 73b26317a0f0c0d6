"""Elementwise functions of two or three tensors, comparisons, and selection by a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import pi

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.tflite_to_graph.support import CONVERSIONS, Call, converts, on_codes
from stepwell.lowering.to_graph import Value


def _floor_div(x: Value, y: Value) -> Value:
    """The quotient, rounded down."""
    if is_float(x.element):
        return (x / y).apply(graph.FloorOp)
    return (x - x % y) / y


def _squared_difference(x: Value, y: Value) -> Value:
    difference = x - y
    return difference * difference


def _op(op_type: type[graph.XorOp | graph.ShiftRightOp | graph.PowerOp], x: Value, y: Value) -> Value:
    return x.formula.op(op_type(x.ssa, y.ssa))


BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    "add": Value.__add__,
    "bitwise_xor": partial(_op, graph.XorOp),
    "div": Value.__truediv__,
    "equal": Value.equals,
    "floor_div": _floor_div,
    "floor_mod": Value.__mod__,
    "greater": Value.__gt__,
    "greater_equal": Value.__ge__,
    "less": Value.__lt__,
    "less_equal": Value.__le__,
    "logical_and": Value.__and__,
    "logical_or": Value.__or__,
    "maximum": Value.maximum,
    "minimum": Value.minimum,
    "mul": Value.__mul__,
    "not_equal": lambda x, y: x.equals(y).negated(),
    "pow": partial(_op, graph.PowerOp),
    "right_shift": partial(_op, graph.ShiftRightOp),
    "squared_difference": _squared_difference,
    "sub": Value.__sub__,
}
"""Functions of two operands that broadcast."""


def _binary(function: Callable[[Value, Value], Value], call: Call) -> Value:
    return function(call.tensor(), call.tensor("y"))


for _name, _function in BINARY.items():
    CONVERSIONS.add(_name, partial(_binary, _function))
on_codes("maximum minimum select select_v2")


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


@converts("atan2")
def atan2(call: Call) -> Value:
    """The angle of a point, in its quadrant; `x` is the ordinate."""
    ordinate, abscissa = call.tensor(), call.tensor("y")
    angle = (ordinate / abscissa).apply(graph.AtanOp)
    half = call.at.where(_is_negative(ordinate), angle - pi, angle + pi)
    result = call.at.where(abscissa < 0, half, angle)
    right = call.at.where(ordinate < 0, result * 0 - pi / 2, result * 0 + pi / 2)
    on_axis = call.at.where(ordinate.equals(0), call.at.where(_is_negative(abscissa), half, ordinate), right)
    return call.at.where(abscissa.equals(0), on_axis, result)


def _is_negative(x: Value) -> Value:
    """Whether a number has a minus, which -0 has as well."""
    inverse = 1.0 / x
    return (x < 0) | (x.equals(0) & (inverse < 0))
