"""Dequantized bytes, as the patterns of `fold-qdq` find them."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.contraction import BYTES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.runtime.files.weights import WeightStore


def dequantized_bytes(value: SSAValue) -> graph.DequantizeOp | None:
    """The op that dequantizes 8-bit integers to a value in f32, not by blocks; None for other values."""
    op = value.owner
    if not isinstance(op, graph.DequantizeOp) or op.block_size or op.to != f32:
        return None
    return op if element_of_value(op.input) in BYTES and element_of_value(op.scale) == f32 else None


def dequantized_activation(value: SSAValue) -> graph.DequantizeOp | None:
    """The op that dequantizes 8-bit integers to a value by one scale for the whole tensor, or None."""
    op = dequantized_bytes(value)
    return op if op is not None and not dims_of(op.scale.type) else None


def dequantized_channels(value: SSAValue, axis: int) -> graph.DequantizeOp | None:
    """The op that dequantizes bytes by a scale for each index of `axis` and one zero point, or None."""
    op = dequantized_bytes(value)
    if op is None or len(dims_of(op.scale.type)) != 1 or op.axis.value.data != axis:
        return None
    return op if op.zero_point is None or not dims_of(op.zero_point.type) else None


def dequantized_weight(value: SSAValue, axis: int) -> graph.DequantizeOp | None:
    """The op that dequantizes constant 8-bit integers by a single scale or a scale per index of `axis`."""
    op = dequantized_bytes(value)
    if op is None or not _is_constant(op.input):
        return None
    return op if not dims_of(op.scale.type) or op.axis.value.data == axis else None


def _is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant, or moves the numbers of one."""
    if isinstance(value.owner, graph.TransposeOp | graph.ReshapeOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, graph.ConstantOp)


def are_same(a: SSAValue | None, b: SSAValue | None, weights: WeightStore) -> bool:
    """Whether two parameters are one value, or equal constants, or both absent."""
    if a is None or b is None or a is b:
        return a is b
    first, second = constant_of(a, weights), constant_of(b, weights)
    return first is not None and second is not None and np.array_equal(first, second)


def keeps_order(scale: SSAValue, weights: WeightStore) -> bool:
    """Whether the greater number has the greater byte: not by a constant scale that is negative or NaN."""
    numbers = constant_of(scale, weights)
    return numbers is None or bool((numbers.astype(np.float64) > 0).all())
