"""Random nodes on quantized numbers: there and back, and integer products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.fuzz.builder import GraphBuilder, Value
from tests.fuzz.layers import window
from tests.fuzz.operators import Adder

_BYTES = ("uint8", "int8")


def quantize(g: GraphBuilder) -> None:
    """There, and most times back; from values that no rounding moved."""
    value = g.pick(lambda v: v.dtype == "float32" and v.exact)
    scale, zero = _scale(g, 0.0625), _zero(g, g.choice(_BYTES))
    g.node("QuantizeLinear", [value, scale, zero], exact=True)
    if g.chance(0.7):
        g.node("DequantizeLinear", [g.values[-1], scale, zero], exact=True)


def dynamic_quantize(g: GraphBuilder) -> None:
    """By the range of the values."""
    g.node("DynamicQuantizeLinear", [g.pick(lambda v: v.dtype == "float32" and v.exact)], outputs=3)


def integer_matmul(g: GraphBuilder) -> None:
    """Of 8 bits, with a zero point."""
    value = g.pick(lambda v: _is_bytes(v) and len(v.shape) >= 2)
    other = g.constant(g.draw(g.choice(_BYTES), [value.shape[-1], 3]))
    zero = _zero(g, value.dtype) if g.chance(0.5) else None
    g.node("MatMulInteger", [value, other, zero], exact=True)


def integer_conv(g: GraphBuilder) -> None:
    """The sums as they are."""
    value, w, attributes = _filters(g)
    zeros = [_zero(g, value.dtype), _zero(g, w.dtype)] if g.chance(0.5) else []
    g.node("ConvInteger", [value, w, *zeros], exact=True, **attributes)


def quantized_conv(g: GraphBuilder) -> None:
    """Back to 8 bits; the scales are powers of two, so that every product is a number of f32."""
    value, w, attributes = _filters(g)
    inputs = [value, _scale(g, 0.5), _zero(g, value.dtype), w, _scale(g, 0.25), _zero(g, w.dtype, 0)]
    bias = [g.constant(g.draw("int32", w.shape[:1]))] if g.chance(0.5) else []
    g.node(
        "QLinearConv", [*inputs, _scale(g, 1.0), _even_zero(g, value.dtype), *bias], exact=True, **attributes
    )


def quantized_matmul(g: GraphBuilder) -> None:
    """Back to 8 bits, with powers of two as scales."""
    value = g.pick(lambda v: _is_bytes(v) and len(v.shape) >= 2)
    other = g.constant(g.draw(value.dtype, [value.shape[-1], g.integer(1, 5)]))
    a = [value, _scale(g, 0.5), _zero(g, value.dtype)]
    b = [other, _scale(g, 0.25), _zero(g, other.dtype)]
    g.node("QLinearMatMul", [*a, *b, _scale(g, 1.0), _even_zero(g, value.dtype)], exact=True)


def _is_bytes(value: Value) -> bool:
    return value.dtype in _BYTES and value.array.size > 0


def _scale(g: GraphBuilder, scale: float) -> Value:
    return g.constant(np.array(scale, np.float32))


def _zero(g: GraphBuilder, kind: str, most: int = 5) -> Value:
    return g.constant(np.array(g.integer(0, most), kind))


def _even_zero(g: GraphBuilder, kind: str) -> Value:
    """The reference adds it before it rounds, which moves halves by an odd number to the wrong side."""
    return g.constant(np.array(2 * g.integer(0, 2), kind))


def _filters(g: GraphBuilder) -> tuple[Value, Value, dict[str, Any]]:
    """An image of bytes, filters for it, and the attributes of their window."""
    value = g.pick(lambda v: _is_bytes(v) and len(v.shape) == 4)
    attributes = window(g, value)
    attributes.pop("auto_pad", None)  # the reference takes SAME for VALID here
    kind = value.dtype if g.chance(0.6) else g.choice(_BYTES)
    w = g.constant(g.draw(kind, [g.integer(1, 4), value.shape[1], *attributes["kernel_shape"]]))
    return value, w, attributes


QUANTIZED: Mapping[Adder, float] = {
    quantize: 1,
    dynamic_quantize: 0.4,
    integer_matmul: 0.5,
    integer_conv: 0.7,
    quantized_conv: 0.7,
    quantized_matmul: 0.5,
}
"""How often each is tried."""
