"""Elementwise functions, comparisons, selection by a condition, constants."""

from __future__ import annotations

from math import prod
from typing import cast as cast_

import numpy as np
from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.dialects.types import dtype_of
from stepwell.lowering.paddle_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value, enter_binary, enter_unary
from stepwell.runtime.dims import Dim

_SMALL = 16
"""Constants of at most so many elements are written out; greater ones are one number in a shape."""

enter_unary(
    CONVERSIONS,
    __name__,
    (
        "abs acos asin atan atanh ceil cos cosh erf exp expm1 floor hardswish log log10 log1p log2 "
        "logical_not logsigmoid reciprocal relu relu6 rsqrt sigmoid sign silu sin sinh softsign sqrt "
        "square tan tanh swish:silu assign:identity"
    ).split(),
)
enter_binary(
    CONVERSIONS,
    __name__,
    (
        "add divide elementwise_pow:power equal floor_divide greater_equal greater_than:greater less_equal "
        "less_than:less logical_and logical_or logical_xor maximum minimum multiply not_equal remainder "
        "subtract"
    ).split(),
)


@converts("round")
def round_(call: Call) -> Value:
    """The nearest whole number, the even one of two."""
    if call.integer("decimals") != 0:
        raise call.unsupported(f"rounding to {call.integer('decimals')} decimals")
    return call.tensor().apply(graph.RoundOp)


@converts("where")
def where(call: Call) -> Value:
    """An elementwise selection by a condition."""
    return call.at.where(call.tensor("condition"), call.tensor(), call.tensor("y"))


@converts("clip")
def clip(call: Call) -> Value:
    """The value between two bounds."""
    x = call.tensor()
    return x.clip(*(call.tensor(name).reshape([]).cast(x.element) for name in ("min", "max")))


@converts("scale")
def scale(call: Call) -> Value:
    """The value times a number, plus a number."""
    x, bias = call.tensor(), call.number("bias")
    factor = call.tensor("scale").reshape([]).cast(x.element)
    if bias == 0:
        return x * factor
    return x * factor + bias if call.flag("bias_after_scale") else (x + bias) * factor


@converts("cast")
def cast(call: Call) -> Value:
    """The value in another element type."""
    return call.tensor().cast(call.element)


@converts("pow")
def power(call: Call) -> Value:
    """The power by a number."""
    x, exponent = call.tensor(), cast_(float, call.value("y"))
    return x * x if exponent == 2 else call.at.op(graph.PowerOp(x.ssa, x.same(float(exponent)).ssa))


@converts("dropout")
def dropout(call: Call) -> Value:
    """The value itself in inference; times what remains in training for the older mode."""
    if not call.flag("is_test"):
        raise call.unsupported("dropout in training", "export the layer after .eval()")
    x = call.tensor()
    return x * (1.0 - call.scalar("p")) if call.text("mode") == "downgrade_in_infer" else x


@converts("elu", "celu")
def elu(call: Call) -> Value:
    """The exponential linear unit; for `celu` the exponential's argument is divided by alpha."""
    x, alpha = call.tensor(), call.number("alpha")
    if call.op.SIGNATURE.name == "elu" or alpha == 1.0:
        return call.at.op(graph.EluOp(x.ssa, alpha))
    return call.at.where(x < 0, (x * (1.0 / alpha)).apply(graph.Expm1Op) * alpha, x)


@converts("selu")
def selu(call: Call) -> Value:
    """The scaled exponential linear unit."""
    return call.at.op(graph.EluOp(call.tensor().ssa, call.number("alpha"))) * call.number("scale")


@converts("gelu")
def gelu(call: Call) -> Value:
    """The Gaussian error linear unit, exact or by tanh."""
    return call.at.op(graph.GeluOp(call.tensor().ssa, "tanh" if call.flag("approximate") else "none"))


@converts("leaky_relu")
def leaky_relu(call: Call) -> Value:
    """Negative numbers times a slope."""
    return call.at.op(graph.LeakyReluOp(call.tensor().ssa, call.number("negative_slope")))


@converts("hardsigmoid")
def hardsigmoid(call: Call) -> Value:
    """A line between 0 and 1."""
    return (call.tensor() * call.number("slope") + call.number("offset")).clip(0, 1)


@converts("hardtanh")
def hardtanh(call: Call) -> Value:
    """The value between two bounds."""
    return call.tensor().clip(call.number("t_min"), call.number("t_max"))


@converts("mish")
def mish(call: Call) -> Value:
    """The value times the tanh of its softplus."""
    x = call.tensor()
    return x * x.apply(graph.SoftplusOp).apply(graph.TanhOp)


@converts("softplus")
def softplus(call: Call) -> Value:
    """log(1 + exp(beta * x)) / beta, and the value itself above a threshold."""
    x, beta, threshold = call.tensor(), call.number("beta"), call.number("threshold")
    scaled = x * beta
    return call.at.where(scaled > threshold, x, scaled.apply(graph.SoftplusOp) * (1.0 / beta))


@converts("prelu")
def prelu(call: Call) -> Value:
    """Negative numbers times a slope, of all or of a channel."""
    x, alpha = call.tensor(), call.tensor("alpha")
    mode = call.text("mode")
    if mode not in ("all", "channel"):
        raise call.unsupported(f"slopes by {mode}")
    call.expect_channels_first()
    slopes = alpha.reshape([]) if mode == "all" else alpha.reshape([1, *alpha.dims, *[1] * (x.rank - 2)])
    return call.at.where(x < 0, x * slopes, x)


@converts("full")
def full(call: Call) -> Value:
    """A number in a shape."""
    number, shape = cast_(float, call.value("value")), call.integers("shape")
    if any(size < 0 for size in shape):
        raise call.invalid(f"the shape {list(shape)}")
    if prod(shape) <= _SMALL:
        return call.at.constant(np.full(shape, number).astype(dtype_of(call.element)))
    return call.at.full(number, list(map(Dim.of, shape)), call.element)


@converts("full_int_array")
def full_int_array(call: Call) -> Value:
    """Numbers of rank 1."""
    return call.at.constant(np.array(call.integers("value"), dtype_of(call.element)))


@converts("full_like")
def full_like(call: Call) -> Value:
    """A number in the shape of another value."""
    value = call.tensor("value").reshape([]).cast(call.element)
    return call.at.op(graph.FullOp(value.ssa, call.tensor().dims))


@converts("arange")
def arange(call: Call) -> Value:
    """Numbers from a start on, in equal steps, below a limit."""
    parts = (call.tensor(name).reshape([]).cast(call.element) for name in ("start", "end", "step"))
    return call.counted(*parts)


@converts("shape", "shape64")
def shape(call: Call) -> Value:
    """The dimensions."""
    return call.at.op(graph.ShapeOfOp(call.tensor("input").ssa)).cast(call.element)


@converts("tril", "triu")
def triangle(call: Call) -> Value:
    """Matrices with zeros above or below a diagonal."""
    x, diagonal = call.tensor(), call.integer("diagonal")
    rows, columns = (call.at.iota(dim, i64) for dim in x.dims[-2:])
    distance = columns.unsqueeze(0) - rows.unsqueeze(1)
    kept = distance <= diagonal if call.op.SIGNATURE.name == "tril" else distance >= diagonal
    return call.at.where(kept, x, 0)
