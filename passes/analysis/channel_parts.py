"""Initializers before activations of products on level 0 that divide them channel by channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.onnx.constants import constant_of
from stepwell.runtime.files.weights import WeightStore

Product = onnx.MatMulOp | onnx.GemmOp
_GAINS: Mapping[str, Sequence[int]] = {
    "LayerNormalization": (1, 2),
    "RMSNormalization": (1,),
    "SimplifiedLayerNormalization": (1,),
    "SkipLayerNormalization": (2, 3),
    "SkipSimplifiedLayerNormalization": (2,),
}
"""The operands of normalizations that are a factor or a term of each channel."""
_HOMOGENEOUS = ("Relu", "LeakyRelu", "Identity", "Dropout")
"""Operators with `f(x / s) = f(x) / s` for a positive s."""


class Part(NamedTuple):
    """An initializer to divide or multiply: the operand of a node, and the dimension of the channels."""

    node: Operation
    operand: int
    axis: int


def scalable_products(main: FuncOp, weights: WeightStore) -> list[list[Operation]]:
    """
    The products of a function whose activation can be divided beforehand; products of one activation are in
    one list.

    All readers of the activation are products with initializers of two dimensions.
    """
    groups: dict[SSAValue, list[Operation]] = {}
    for node in main.body.block.ops:
        if _is_product(node, weights):
            groups.setdefault(node.operands[0], []).append(node)
    return [
        found
        for value, found in groups.items()
        if len(list(value.uses)) == len(found)
        and parts_before(value, channels_of(found[0], weights), weights) is not None
    ]


def parts_before(value: SSAValue, channels: int, weights: WeightStore) -> list[Part] | None:
    """
    The initializers to divide by factors of channels, so that a value is divided; None if there are none.

    Args: `channels` is the size of the value's last dimension.
    """
    node = value.owner
    if not isinstance(node, Operation) or value is not node.results[0]:
        return None
    kind = node.op_type.data if isinstance(node, onnx.CallOp) else node.name.rpartition(".")[2]
    if kind in _GAINS:
        parts = [Part(node, i, 0) for i in _GAINS[kind] if i < len(node.operands)]
        return parts if all(_shape(part, weights) == (channels,) for part in parts) else None
    if kind in _HOMOGENEOUS:
        return _parts_of_operand(node, 0, channels, weights)
    if kind == "Mul":
        return _parts_of_either(node, channels, weights)
    if kind == "Add":
        return _parts_of_sum(node, channels, weights)
    if _is_product(node, weights):
        return _parts_of_product(node, channels, weights)
    return None


def _parts_of_operand(node: Operation, index: int, channels: int, weights: WeightStore) -> list[Part] | None:
    value = node.operands[index]
    return parts_before(value, channels, weights) if value.has_one_use() else None


def _parts_of_either(node: Operation, channels: int, weights: WeightStore) -> list[Part] | None:
    """The parts of a factor: a vector of channels, or before one that has all of the channels."""
    for index in (0, 1):
        if (part := _vector(node, index, channels, weights)) is not None:
            return [part]
    for index in (0, 1):
        if (found := _parts_of_operand(node, index, channels, weights)) is not None:
            return found
    return None


def _parts_of_sum(node: Operation, channels: int, weights: WeightStore) -> list[Part] | None:
    """The parts of a sum of a vector of channels and another term."""
    for index in (0, 1):
        if (part := _vector(node, index, channels, weights)) is not None:
            found = _parts_of_operand(node, 1 - index, channels, weights)
            return None if found is None else [part, *found]
    return None


def _parts_of_product(node: Operation, channels: int, weights: WeightStore) -> list[Part] | None:
    """The parts of a product: the columns of its weight, and its bias."""
    columns = Part(node, 1, 1 - weight_part(node).axis)
    weight = constant_of(node.operands[1], weights)
    if weight is None or weight.shape[columns.axis] != channels:
        return None
    if len(node.operands) < 3:
        return [columns]
    bias = _vector(node, 2, channels, weights)
    return None if bias is None else [columns, bias]


def _vector(node: Operation, index: int, channels: int, weights: WeightStore) -> Part | None:
    """An operand that is an initializer with a number for each channel, along its last dimension."""
    array = constant_of(node.operands[index], weights)
    if (
        array is None
        or array.dtype != np.float32
        or array.size != channels
        or array.shape[-1:] != (channels,)
    ):
        return None
    return Part(node, index, array.ndim - 1)


def _is_product(node: Operation, weights: WeightStore) -> bool:
    """Whether a node is a product with an initializer in f32 of two dimensions."""
    if not isinstance(node, Product) or (isinstance(node, onnx.GemmOp) and node.integer("transA")):
        return False
    array = constant_of(node.operands[1], weights)
    return array is not None and array.ndim == 2 and array.dtype == np.float32


def channels_of(product: Operation, weights: WeightStore) -> int:
    """The number of channels of a product's activation."""
    array = constant_of(product.operands[1], weights)
    assert array is not None
    return array.shape[weight_part(product).axis]


def weight_part(node: Operation) -> Part:
    """The rows of a product's weight."""
    return Part(node, 1, 1 if isinstance(node, onnx.GemmOp) and node.integer("transB") else 0)


def _shape(part: Part, weights: WeightStore) -> tuple[int, ...] | None:
    array = constant_of(part.node.operands[part.operand], weights)
    return None if array is None or array.dtype != np.float32 else array.shape
