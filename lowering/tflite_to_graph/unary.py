"""Elementwise functions of one tensor, and activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as cast_

from xdsl.dialects.builtin import IntegerType, f32

from stepwell.dialects import graph
from stepwell.dialects.types import dtype_of
from stepwell.lowering.tflite_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value, enter_unary

enter_unary(
    CONVERSIONS,
    __name__,
    (
        "abs ceil cos exp floor hard_swish:hardswish log logical_not logistic:sigmoid neg:negative relu "
        "relu6 round rsqrt sign sin sqrt square tanh"
    ).split(),
)


@converts("relu_0_to_1")
def relu_0_to_1(call: Call) -> Value:
    """The value, at least 0 and at most 1."""
    return call.tensor().clip(0, 1)


@converts("relu_n1_to_1")
def relu_n1_to_1(call: Call) -> Value:
    """The value, at least -1 and at most 1."""
    return call.tensor().clip(-1, 1)


@converts("elu")
def elu(call: Call) -> Value:
    """The exponential linear unit."""
    return call.at.op(graph.EluOp(call.tensor().ssa, 1.0))


@converts("gelu")
def gelu(call: Call) -> Value:
    """The Gaussian error linear unit, exact or by tanh."""
    return call.at.op(graph.GeluOp(call.tensor().ssa, "tanh" if call.flag("approximate") else "none"))


@converts("leaky_relu")
def leaky_relu(call: Call) -> Value:
    """Negative numbers times a slope."""
    return call.at.op(graph.LeakyReluOp(call.tensor().ssa, call.number("alpha")))


@converts("prelu")
def prelu(call: Call) -> Value:
    """Negative numbers times a slope for each channel."""
    x = call.tensor()
    return call.at.where(x < 0, x * call.tensor("slope"), x)


@converts("cast")
def cast(call: Call) -> Value:
    """The value in another element type; numbers outside of it wrap as integers do."""
    x = call.codes("x")
    return x if x.element == call.element else call.at.op(graph.CastOp(x.ssa, call.element, saturate=False))


@converts("bitcast")
def bitcast(call: Call) -> Value:
    """The bytes as elements of another type, of the same size or of a size that divides it."""
    x = call.codes("x")
    before, after = dtype_of(x.element).itemsize, dtype_of(call.element).itemsize
    if before != after:
        raise call.unsupported(f"elements of {before} bytes as ones of {after}")
    return call.at.op(graph.BitcastOp(x.ssa, call.element))


@converts("zeros_like")
def zeros_like(call: Call) -> Value:
    """Zeros in the shape of the operand."""
    x = call.codes("x")
    return call.at.full(0, x.dims, x.element)


@converts("fake_quant")
def fake_quant(call: Call) -> Value:
    """The numbers that codes of some bits can stand for, between two bounds that are moved to include 0."""
    x, bits = call.tensor(), call.integer("num_bits")
    least, greatest = int(call.flag("narrow_range")), (1 << bits) - 1
    low, high = call.number("min"), call.number("max")
    if not low <= 0.0 <= high or low == high:
        raise call.unsupported(f"the bounds {low} and {high} must have 0 between them")
    scale = (high - low) / (greatest - least)
    zero = min(max(round(least - low / scale), least), greatest)
    low, high = (least - zero) * scale, (greatest - zero) * scale
    return ((x.clip(low, high) - low) * (1 / scale) + 0.5).apply(graph.FloorOp) * scale + low


@converts("quantize")
def quantize(call: Call) -> Value:
    """The codes of numbers, or codes for another scale."""
    return call.tensor()


@converts("dequantize")
def dequantize(call: Call) -> Value:
    """The numbers of codes; floats of 16 bits as floats of 32."""
    return call.tensor().cast(call.element)


@converts("bucketize")
def bucketize(call: Call) -> Value:
    """The number of boundaries that are not greater than an element."""
    x, i32 = call.tensor(), IntegerType(32)
    bounds = call.at.array(cast_("Sequence[float]", call.value("boundaries")), f32).cast(x.element)
    return (bounds <= x.unsqueeze(x.rank)).cast(i32).reduce("sum", [x.rank])
