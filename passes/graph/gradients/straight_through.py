"""Derivatives of quantization that are taken to be 1: straight-through estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import tensor_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, Rule


def quantize(op: graph.QuantizeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    The cotangent where the input is between the numbers of the least and the greatest integer, 0 elsewhere.

    ```mlir
    %q = graph.quantize %x, %s to i8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
    %y = graph.dequantize %q, %s to f32 : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
    // ->
    %low = graph.dequantize %least, %s to f32 : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
    %high = graph.dequantize %most, %s to f32 : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
    %a = graph.less_equal %low, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %c = graph.less_equal %x, %high : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %inside = graph.and %a, %c : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %dx = graph.where %inside, %dy, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    Source: Bengio et al., "Estimating or propagating gradients through stochastic neurons" (2013).
    """
    element = tensor_of(op.result).element_type
    rest = [None] * (len(op.operands) - 1)
    if not isinstance(element, IntegerType):
        return [dy, *rest]
    integers = cast("IntegerType[int, Signedness]", element)
    count = 1 << integers.width.data
    least = 0 if integers.signedness.data == Signedness.UNSIGNED else -(count // 2)
    low, high = (_number(op, limit, b) for limit in (least, least + count - 1))
    above = b.insert(graph.LessEqualOp(low, op.input))
    below = b.insert(graph.LessEqualOp(op.input, high))
    return [b.only_where(b.insert(graph.AndOp(above, below)), dy), *rest]


def _number(op: graph.QuantizeOp, integer: int, b: GradientBuilder) -> SSAValue:
    """The numbers that an integer stands for, in the shape of the input."""
    full = b.insert(graph.FullOp(b.scalar(integer, op.result), b.dims(op.result)))
    to = tensor_of(op.input).element_type
    axis, block = op.axis.value.data, op.block.value.data
    return b.insert(graph.DequantizeOp(full, op.scale, op.zero_point, to=to, axis=axis, block=block))


def dequantize(op: graph.DequantizeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    The cotangent itself, as that of the integers: the rule emits nothing.
    """
    del b
    return [dy, *[None] * (len(op.operands) - 1)]


STRAIGHT_THROUGH: Mapping[type[Operation], Rule] = {
    graph.QuantizeOp: quantize,
    graph.DequantizeOp: dequantize,
}
