"""Elementwise functions that several frameworks have, under one name each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import pi
from typing import Any

from stepwell.dialects import graph
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.to_graph.calls import Conversions
from stepwell.lowering.to_graph.expressions import Value

_OPS: Mapping[str, type[UnaryOp]] = {
    "abs": graph.AbsOp,
    "acos": graph.AcosOp,
    "asin": graph.AsinOp,
    "atan": graph.AtanOp,
    "atanh": graph.AtanhOp,
    "ceil": graph.CeilOp,
    "cos": graph.CosOp,
    "cosh": graph.CoshOp,
    "erf": graph.ErfOp,
    "exp": graph.ExpOp,
    "expm1": graph.Expm1Op,
    "floor": graph.FloorOp,
    "log": graph.LogOp,
    "log1p": graph.Log1pOp,
    "logical_not": graph.NotOp,
    "negative": graph.NegOp,
    "relu": graph.ReluOp,
    "round": graph.RoundOp,
    "rsqrt": graph.RsqrtOp,
    "sigmoid": graph.SigmoidOp,
    "sign": graph.SignOp,
    "sin": graph.SinOp,
    "sinh": graph.SinhOp,
    "softplus": graph.SoftplusOp,
    "sqrt": graph.SqrtOp,
    "tan": graph.TanOp,
    "tanh": graph.TanhOp,
    "trunc": graph.TruncOp,
}


def _of(op_type: type[UnaryOp]) -> Callable[[Value], Value]:
    return lambda x: x.apply(op_type)


UNARY: Mapping[str, Callable[[Value], Value]] = {
    **{name: _of(op_type) for name, op_type in _OPS.items()},
    "exp2": lambda x: (x * 0.6931471805599453).apply(graph.ExpOp),
    "hardswish": lambda x: x * (x + 3.0).clip(0.0, 6.0) * (1 / 6),
    "identity": lambda x: x,
    "log10": lambda x: x.apply(graph.LogOp) * 0.4342944819032518,
    "log2": lambda x: x.apply(graph.LogOp) * 1.4426950408889634,
    "logsigmoid": lambda x: -(-x).apply(graph.SoftplusOp),
    "mish": lambda x: x * x.apply(graph.SoftplusOp).apply(graph.TanhOp),
    "reciprocal": lambda x: 1.0 / x,
    "relu6": lambda x: x.clip(0, 6),
    "silu": lambda x: x * x.apply(graph.SigmoidOp),
    "softsign": lambda x: x / (abs(x) + 1.0),
    "square": lambda x: x * x,
}
"""Functions of one value."""


def floor_div(x: Value, y: Value) -> Value:
    """The quotient, rounded down."""
    if is_float(x.element):
        return (x / y).apply(graph.FloorOp)
    return (x - x % y) / y


def _op(op_type: type[graph.XorOp | graph.PowerOp], x: Value, y: Value) -> Value:
    return x.formula.op(op_type(x.ssa, y.ssa))


def is_minus_zero(x: Value) -> Value:
    """Whether a number is -0: its reciprocal is the negative infinity."""
    return x.equals(0.0) & ((1.0 / x) < 0.0)


def atan2(y: Value, x: Value) -> Value:
    """
    The angle of the point (x, y) in its quadrant, in radians from -pi to pi.

    Zeros and infinities, with their signs, are treated as IEEE 754-2019 (9.2.1) has them.
    """
    at = y.formula
    half = at.where((y < 0.0) | is_minus_zero(y), -pi, y.same(pi))
    angle = (y / x).apply(graph.AtanOp)
    angle = at.where(x < 0.0, angle + half, angle)
    upright = at.where(y > 0.0, pi / 2, at.where(y < 0.0, -pi / 2, y))
    upright = at.where(is_minus_zero(x) & y.equals(0.0), half, upright)
    angle = at.where(x.equals(0.0), upright, angle)
    are_infinite = at.op(graph.IsInfOp(x.ssa)) & at.op(graph.IsInfOp(y.ssa))
    diagonal = at.where(x > 0.0, pi / 4, x.same(3 * pi / 4))
    return at.where(are_infinite, at.where(y > 0.0, diagonal, -diagonal), angle)


BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    "add": Value.__add__,
    "atan2": atan2,
    "divide": Value.__truediv__,
    "equal": Value.equals,
    "floor_divide": floor_div,
    "greater": Value.__gt__,
    "greater_equal": Value.__ge__,
    "less": Value.__lt__,
    "less_equal": Value.__le__,
    "logical_and": Value.__and__,
    "logical_or": Value.__or__,
    "logical_xor": partial(_op, graph.XorOp),
    "maximum": Value.maximum,
    "minimum": Value.minimum,
    "multiply": Value.__mul__,
    "not_equal": lambda x, y: x.equals(y).negated(),
    "power": partial(_op, graph.PowerOp),
    "remainder": Value.__mod__,
    "subtract": Value.__sub__,
}
"""Functions of two values that broadcast."""


def pixel_shuffle(x: Value, block: int) -> Value:
    """Groups of channels [..., C, H, W] as finer maps; a channel's number ends with the place in a block."""
    *batch, channels, height, width = x.dims
    depth, rank = channels // (block * block), len(batch)
    order = [*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2]
    parts = x.reshape([*batch, depth, block, block, height, width]).transpose(order)
    return parts.reshape([*batch, depth, height * block, width * block])


def pixel_unshuffle(x: Value, block: int) -> Value:
    """Blocks of pixels [..., C, H, W] as channels, as `pixel_shuffle` takes them."""
    *batch, channels, height, width = x.dims
    sizes, rank = (height // block, width // block), len(batch)
    order = [*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3]
    parts = x.reshape([*batch, channels, sizes[0], block, sizes[1], block]).transpose(order)
    return parts.reshape([*batch, channels * (block * block), *sizes])


def enter_unary(conversions: Conversions, module: str, names: Iterable[str], operand: str = "x") -> None:
    """Enter functions of one operand by name: `"abs"`, or `"neg:negative"`, a framework's name and ours."""

    def convert(function: Callable[[Value], Value], call: Any) -> Value:
        return function(call.tensor(operand))

    for name in names:
        theirs, _, ours = name.partition(":")
        conversions.add(theirs, partial(convert, UNARY[ours or theirs]), module)


def enter_binary(conversions: Conversions, module: str, names: Iterable[str]) -> None:
    """Enter functions of the operands `x` and `y`: `"add"`, or `"sub:subtract"`, as for one operand."""

    def convert(function: Callable[[Value, Value], Value], call: Any) -> Value:
        return function(call.tensor(), call.tensor("y"))

    for name in names:
        theirs, _, ours = name.partition(":")
        conversions.add(theirs, partial(convert, BINARY[ours or theirs]), module)
