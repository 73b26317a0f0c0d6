"""Elementwise functions of two or three tensors, comparisons, and selection by a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from xdsl.dialects.builtin import i1

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.coreml_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value


def _floor_div(x: Value, y: Value) -> Value:
    """The quotient, rounded down."""
    if is_float(x.element):
        return (x / y).apply(graph.FloorOp)
    return (x - x % y) / y


def _op(op_type: type[graph.XorOp | graph.PowerOp], x: Value, y: Value) -> Value:
    return x.formula.op(op_type(x.ssa, y.ssa))


BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    "add": Value.__add__,
    "equal": Value.equals,
    "floor_div": _floor_div,
    "greater": Value.__gt__,
    "greater_equal": Value.__ge__,
    "less": Value.__lt__,
    "less_equal": Value.__le__,
    "logical_and": Value.__and__,
    "logical_or": Value.__or__,
    "logical_xor": partial(_op, graph.XorOp),
    "maximum": Value.maximum,
    "minimum": Value.minimum,
    "mod": Value.__mod__,
    "mul": Value.__mul__,
    "not_equal": lambda x, y: x.equals(y).negated(),
    "pow": partial(_op, graph.PowerOp),
    "real_div": Value.__truediv__,
    "sub": Value.__sub__,
}
"""Functions of two operands that broadcast."""


def _binary(function: Callable[[Value, Value], Value], call: Call) -> Value:
    return function(call.tensor(), call.tensor("y"))


for _name, _function in BINARY.items():
    CONVERSIONS.add(_name, partial(_binary, _function))


@converts("select")
def select(call: Call) -> Value:
    """An elementwise selection by a condition."""
    condition = call.tensor("cond")
    return call.at.where(condition.cast(i1), call.tensor("a"), call.tensor("b"))
