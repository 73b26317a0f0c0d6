"""The pattern that converts a call by the table, on codes or between numbers, and that of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from xdsl.ir import Attribute

from stepwell.dialects import graph, tflite
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.graph.relations import is_integer
from stepwell.lowering.tflite_to_graph.support import CONVERSIONS, ON_CODES, Call, Scales
from stepwell.lowering.to_graph import (
    Conversions,
    Converted,
    ForeignLowering,
    ForeignWeightLowering,
    Formula,
    Value,
)

_RANGES: Mapping[str, tuple[float, float | None]] = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""The bounds of fused activations."""


class WeightLowering(ForeignWeightLowering):
    """
    A weight → `graph.constant` of the same bytes.

    ```mlir
    %w = "tflite.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """


class TfliteLowering(ForeignLowering):
    """
    Any operator of the table → what its function makes, and the fused activation.

    Where tensors are quantized: `graph.dequantize` of the operands, and `graph.quantize` of the results.

    ```mlir
    %y = "tflite.mul"(%x, %x) {fused_activation_function = "RELU"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %z = graph.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = graph.relu %z : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    CONVERSIONS: ClassVar[Conversions] = CONVERSIONS

    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """The values of a call's results."""
        call, name = Call(op, at), op.SIGNATURE.name
        call = replace(call, on_codes=name in ON_CODES and _has_one_quantization(call))
        made = CONVERSIONS[name](call)
        values = [made] if isinstance(made, Value) else list(made)
        return [_finished(call, position, value) for position, value in enumerate(values)]


def _has_one_quantization(call: Call) -> bool:
    """Whether all tensors of a call that are quantized are so alike."""
    return len({scales for scales in call.scales if scales is not None}) <= 1


def _finished(call: Call, position: int, value: Value | None) -> Value | None:
    """A result with the fused activation, as codes if the model has codes for it."""
    if value is None:
        return None
    kind = None if call.op.SIGNATURE.name in tflite.RECURRENT else call.value("fused_activation_function")
    scales = call.result_scales(position) if position < len(call.op.results) else None
    is_plain = kind in (None, "NONE")
    is_integral = value.element == call.element and is_integer(value.element)
    if scales is None or (is_integral and not call.on_codes):
        return value if is_plain else _activated(call, value, str(kind))
    codes = value if call.on_codes else _quantized(call, value, scales, call.element)
    return codes if is_plain else _bounded(call, codes, scales, str(kind))


def _activated(call: Call, value: Value, kind: str) -> Value:
    """A fused activation of numbers."""
    if kind == "RELU":
        return value.apply(graph.ReluOp)
    low, high = _range(call, kind)
    return value.maximum(low) if high is None else value.clip(low, high)


def _range(call: Call, kind: str) -> tuple[float, float | None]:
    """The bounds of a fused activation."""
    if kind not in _RANGES:  # LiteRT's convolutions ignore others, its sums refuse them
        raise call.unsupported(f"the fused activation {kind}")
    return _RANGES[kind]


def _quantized(call: Call, value: Value, scales: Scales, element: Attribute) -> Value:
    """The codes of numbers."""
    scale, zero = call.constants(scales)
    return call.at.op(graph.QuantizeOp(value.ssa, scale, zero, to=element, axis=scales.axis))


def _bounded(call: Call, codes: Value, scales: Scales, kind: str) -> Value:
    """A fused activation of codes; none where all codes are inside of its bounds."""
    low, high = _range(call, kind)
    least, greatest = call.range_of(codes.element)
    if call.code(scales, low) > least:
        codes = codes.maximum(call.code(scales, low))
    if high is not None and call.code(scales, high) < greatest:
        codes = codes.minimum(call.code(scales, high))
    return codes
