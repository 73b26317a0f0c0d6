"""
Quantized operators of ONNX Runtime's own domain, as written by its quantizer → `graph`.

Each is emitted as dequantize, compute, quantize; `fold-qdq` makes integer ops of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.contrib.attention import attended_projection
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.lowering.onnx_to_graph.quantized.products import dynamic_scale, exact_product
from stepwell.lowering.onnx_to_graph.support import element_of
from stepwell.runtime.dims import Dim

_U8 = IntegerType(8, Signedness.UNSIGNED)


class _Node(ContribNode):
    """A quantized operator, with access to its scales and zero points."""

    def parameter(self, position: int) -> SSAValue | None:
        """A scale or zero point: rank 0 for a single element, None for zeros."""
        value = self.optional(position)
        if value is None:
            return None
        array = self.array(value)
        if array is not None and element_of(value) != f32 and not np.any(array):
            return None
        if dims_of(value.type) != (Dim.of(1),):
            return value
        if array is not None:
            return self.table(array.reshape(()))
        return self.emit(graph.ReshapeOp(value, []))

    def dequantized(self, position: int, axis: int = 1) -> SSAValue:
        """The numbers of an input, whose scale and zero point are the next two inputs."""
        scale = self.parameter(position + 1)
        assert scale is not None
        axis = axis if dims_of(scale.type) else 0
        point = self.parameter(position + 2)
        return self.emit(graph.DequantizeOp(self.input(position), scale, point, axis=axis))

    def quantized(self, value: SSAValue, position: int) -> SSAValue:
        """A value quantized by the scale at an input position and the zero point at the next one."""
        scale, point = self.parameter(position), self.optional(position + 1)
        assert scale is not None
        to = element_of(self.input(0)) if point is None else element_of(point)
        return self.emit(graph.QuantizeOp(value, scale, self.parameter(position + 1), to=to))


_Meaning: TypeAlias = Callable[[_Node], SSAValue | Sequence[SSAValue | None]]


def _binary(op_type: type[graph.AddOp] | type[graph.MultiplyOp]) -> _Meaning:
    """The meaning of an elementwise operator on two quantized inputs."""
    return lambda node: node.quantized(node.emit(op_type(node.dequantized(0), node.dequantized(3))), 6)


def _leaky_relu(node: _Node) -> SSAValue:
    """`QLinearLeakyRelu`: a leaky relu between dequantize and quantize."""
    op = graph.LeakyReluOp(node.dequantized(0), node.number("alpha", 0.01))
    return node.quantized(node.emit(op), 3)


def _softmax(node: _Node) -> SSAValue:
    """`QLinearSoftmax`: a softmax along one axis between dequantize and quantize."""
    rank = len(dims_of(node.input(0).type))
    axis = int(node.number("axis", -1)) % max(rank, 1)
    return node.quantized(node.emit(graph.SoftmaxOp(node.dequantized(0), axis)), 3)


def _global_average_pool(node: _Node) -> SSAValue:
    """`QLinearGlobalAveragePool`: the mean over the spatial axes, channels first or last."""
    rank = len(dims_of(node.input(0).type))
    pixels = range(1, rank - 1) if node.number("channels_last", 0) else range(2, rank)
    return node.quantized(node.emit(graph.ReduceOp(node.dequantized(0), "mean", pixels, keep_dims=True)), 3)


def _reduce_mean(node: _Node) -> SSAValue:
    """`QLinearReduceMean`: the mean over some axes between dequantize and quantize."""
    rank = len(node.dims(node.input(0)))
    axes = [axis % rank for axis in node.integers("axes") or range(rank)]
    keep = bool(node.integer("keepdims", 1))
    return node.quantized(node.emit(graph.ReduceOp(node.dequantized(0), "mean", axes, keep_dims=keep)), 3)


def _where(node: _Node) -> SSAValue:
    """`QLinearWhere`: a selection between two dequantized inputs."""
    chosen = graph.WhereOp(node.input(0), node.dequantized(1), node.dequantized(4))
    return node.quantized(node.emit(chosen), 7)


def _attention(node: _Node) -> Sequence[SSAValue | None]:
    """`QAttention`: `Attention` with a projection of quantized inputs."""
    scale = node.parameter(4)
    assert scale is not None
    weights = graph.DequantizeOp(
        node.input(1), scale, node.parameter(7), axis=1 if dims_of(scale.type) else 0
    )
    scale = node.parameter(3)
    assert scale is not None
    x = graph.DequantizeOp(node.input(0), scale, node.parameter(6))
    product = node.emit(graph.MatmulOp(node.emit(x), node.emit(weights)))
    return attended_projection(node, node.add(product, node.input(2)), 5, 8, None)


def _concat(node: _Node) -> SSAValue:
    """
    `QLinearConcat`: dequantized inputs joined along an axis; the result's parameters are the first inputs.
    """
    parts = [node.dequantized(i) for i in range(2, len(node.inputs), 3)]
    axis = int(node.number("axis", 0)) % len(dims_of(parts[0].type))
    return node.quantized(node.emit(graph.ConcatOp(parts, axis)), 0)


def _gemm(node: _Node) -> SSAValue:
    """alpha · A · B + C, C in units of the scales of A and B; floats when y has no scale."""
    transposed = bool(node.number("transB", 0))
    a, b = node.dequantized(0), node.dequantized(3, 0 if transposed else 1)
    transpose_a = bool(node.number("transA", 0))
    value = node.emit(graph.MatmulOp(a, b, transpose_a=transpose_a, transpose_b=transposed))
    scales = [node.parameter(1), node.parameter(4)]
    if (alpha := node.number("alpha", 1)) != 1:
        factor = node.constant(alpha)
        value, scales = node.emit(graph.MultiplyOp(value, factor)), [*scales, factor]
    if (bias := node.optional(6)) is not None:
        unit = scales[0]
        for scale in scales[1:]:
            assert unit is not None and scale is not None
            unit = node.emit(graph.MultiplyOp(unit, scale))
        assert unit is not None
        axis = len(dims_of(bias.type)) - 1 if dims_of(unit.type) else 0
        numbers = node.emit(graph.DequantizeOp(bias, unit, axis=axis))
        is_vector = len(dims_of(bias.type)) == 1
        value = node.emit(graph.BiasAddOp(value, numbers, 1) if is_vector else graph.AddOp(value, numbers))
    return value if node.optional(7) is None else node.quantized(value, 7)


def _integer_to_float(node: _Node) -> SSAValue:
    """A · B of 8-bit integers as floats, plus a bias."""
    a, b, points = node.input(0), node.input(1), (node.parameter(4), node.parameter(5))
    return _scaled_product(node, a, b, points, (node.input(2), node.input(3)), node.optional(6))


def _dynamic_matmul(node: _Node) -> SSAValue:
    """A · B, A quantized by its own range at run time."""
    a = node.input(0)
    scale, point = dynamic_scale(a, node.constant, node.rewriter)
    a = node.emit(graph.QuantizeOp(a, scale, point, to=_U8))
    points = (point, node.parameter(3))
    return _scaled_product(node, a, node.input(1), points, (scale, node.input(2)), node.optional(4))


def _scaled_product(
    node: _Node,
    a: SSAValue,
    b: SSAValue,
    points: Sequence[SSAValue | None],
    scales: tuple[SSAValue, SSAValue],
    bias: SSAValue | None,
) -> SSAValue:
    """An integer product times both scales, plus a bias."""
    sums = node.emit(graph.CastOp(exact_product(a, b, points, node.lowering, node.rewriter), f32))
    value = node.emit(graph.MultiplyOp(sums, node.emit(graph.MultiplyOp(*scales))))
    return value if bias is None else node.emit(graph.AddOp(value, bias))


def _quantize(node: _Node) -> SSAValue:
    """`QuantizeLinear` of the domain: per tensor, or along an axis for a vector of scales."""
    scale, point = node.parameter(1), node.optional(2)
    assert scale is not None
    axis = int(node.number("axis", 1)) % len(dims_of(node.input(0).type)) if dims_of(scale.type) else 0
    to: Attribute = _U8 if point is None else element_of(point)
    return node.emit(graph.QuantizeOp(node.input(0), scale, node.parameter(2), to=to, axis=axis))


_MEANINGS: Mapping[str, _Meaning] = {
    "DequantizeLinear": lambda node: node.dequantized(
        0, int(node.number("axis", 1)) % max(1, len(dims_of(node.input(0).type)))
    ),
    "DynamicQuantizeMatMul": _dynamic_matmul,
    "MatMulIntegerToFloat": _integer_to_float,
    "QAttention": _attention,
    "QGemm": _gemm,
    "QLinearAdd": _binary(graph.AddOp),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _global_average_pool,
    "QLinearLeakyRelu": _leaky_relu,
    "QLinearMul": _binary(graph.MultiplyOp),
    "QLinearReduceMean": _reduce_mean,
    "QLinearSigmoid": lambda node: node.quantized(node.emit(graph.SigmoidOp(node.dequantized(0))), 3),
    "QLinearSoftmax": _softmax,
    "QLinearWhere": _where,
    "QuantizeLinear": _quantize,
}


def _quantized(meaning: _Meaning) -> Meaning:
    """A meaning on quantized nodes as one on plain nodes."""
    return lambda node: meaning(_Node(node.op, node.lowering, node.rewriter))


OPERATORS: Mapping[str, Meaning] = {name: _quantized(meaning) for name, meaning in _MEANINGS.items()}
"""The operators of this file with their meanings."""
