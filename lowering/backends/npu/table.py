"""The table of the accelerator: convolutions, products, sums and maxima of bytes, requantized in integers."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.patterns import Pattern, is_constant, is_op, wildcard
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array

CONV, MATMUL, ADD, MAX_POOL = "npu.conv2d", "npu.matmul", "npu.add", "npu.max_pool"
_LARGEST_WINDOW = 256
"""The rows times columns of a window for which each configuration has room."""


def conv2d() -> Pattern:
    """A convolution with bias, multiplier, shift and zero point, as `requantize-in-integers` writes it."""
    conv = is_op("graph.conv_integer")
    sums = conv(wildcard(), is_constant()) | conv(wildcard(), is_constant(), is_constant())
    return _requantized(sums)


def matmul() -> Pattern:
    """A product of rows by a constant matrix, requantized as a convolution is."""
    product = is_op("graph.matmul_integer")
    return _requantized(
        product(wildcard(), is_constant()) | product(wildcard(), is_constant(), is_constant())
    )


def _requantized(sums: Pattern) -> Pattern:
    """Sums with bias, multiplier, shift and zero point."""
    biased = is_op("graph.bias_add")(sums, is_constant())
    return _bytes(_shifted(is_op("graph.multiply")(is_op("graph.cast")(biased), is_constant())))


def add() -> Pattern:
    """The sum of two tensors of bytes, as `requantize-in-integers` writes it."""

    def term() -> Pattern:
        centred = is_op("graph.add")(is_op("graph.cast")(wildcard()), is_constant())
        return _shifted(is_op("graph.multiply")(is_op("graph.cast")(centred), is_constant()))

    return _bytes(_shifted(is_op("graph.add")(term(), term())))


def max_pool() -> Pattern:
    """Maxima over windows of bytes, whose scale stays."""
    return is_op("graph.pool")(wildcard())


def _shifted(value: Pattern) -> Pattern:
    halved = is_op("graph.add")(value, is_constant())
    return is_op("graph.shift_right")(halved, is_constant())


def _bytes(value: Pattern) -> Pattern:
    moved = is_op("graph.add")(value, is_constant())
    return is_op("graph.cast")(is_op("graph.clip")(moved, is_constant(), is_constant()))


def is_image(value: SSAValue) -> bool:
    """Whether a value is a batch of feature maps of unsigned bytes, of known size but for the batch."""
    if value.type.name != TensorType.name:
        return False
    dims = dims_of(value.type)
    return str(_element(value)) == "ui8" and len(dims) == 4 and all(dim.is_static for dim in dims[1:])


def is_row(value: SSAValue) -> bool:
    """Whether a value is a batch of rows of unsigned bytes, of known size but for the batch."""
    if value.type.name != TensorType.name:
        return False
    dims = dims_of(value.type)
    return str(_element(value)) == "ui8" and len(dims) == 2 and dims[1].is_static


def supports_matmul(value: SSAValue) -> bool:
    """Whether the root of a match of `matmul` is a product that a program computes."""
    product = next((op for op in operations(value) if isinstance(op, graph.MatmulIntegerOp)), None)
    if product is None or not is_row(value) or not is_row(product.a):
        return False
    return product.b_zero_point is None and str(_element(product.b)) == "i8"


def supports_conv(value: SSAValue) -> bool:
    """Whether the root of a match of `conv2d` is a convolution that a program computes."""
    conv = _inner(value, graph.ConvIntegerOp)
    if conv is None or not is_image(value) or not is_image(conv.x):
        return False
    properties = conv.properties
    plain = [properties.get(name) for name in ("data_layout", "kernel_layout", "out_layout")]
    layouts = {str(each).strip('"') for each in plain if each is not None}
    groups = conv.groups.value.data
    return layouts <= {"NCHW", "OIHW"} and groups == 1 and str(_element(conv.w)) == "i8"


def supports_add(value: SSAValue) -> bool:
    """Whether the root of a match of `add` is a sum of feature maps."""
    casts = [op for op in operations(value) if isinstance(op, graph.CastOp) and is_image(op.input)]
    return is_image(value) and len(casts) == 2 and casts[0].input.type == casts[1].input.type


def supports_max_pool(value: SSAValue) -> bool:
    """Whether the root of a match of `max_pool` has maxima alone, of feature maps by channel."""
    pool = value.owner
    if not isinstance(pool, graph.PoolOp) or len(pool.outputs) != 1 or pool.kind.data != "max":
        return False
    if pool.data_layout.data != "NCHW" or not is_image(value) or not is_image(pool.x):
        return False
    kernel, dilations = pool.kernel.get_values(), pool.dilations.get_values()
    reach = [(extent - 1) * dilation + 1 for extent, dilation in zip(kernel, dilations, strict=True)]
    return reach[0] * reach[1] <= _LARGEST_WINDOW and not pool.ceil.value.data


def operations(value: SSAValue) -> list[Operation]:
    """The ops that compute a value from feature maps or rows, those of operands first."""
    found: dict[Operation, None] = {}

    def visit(each: SSAValue) -> None:
        op = each.owner
        if not isinstance(op, Operation) or op in found or isinstance(op, graph.ConstantOp):
            return
        for operand in op.operands:
            if not is_image(operand) and not is_row(operand):
                visit(operand)
        found[op] = None

    visit(value)
    return list(found)


def _inner(value: SSAValue, kind: type[graph.ConvIntegerOp]) -> graph.ConvIntegerOp | None:
    return next((op for op in operations(value) if isinstance(op, kind)), None)


def _element(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", value.type).element_type


def constants_in(op: Operation, weights: WeightStore) -> list[Array]:
    """The constant operands of an op."""
    found = [constant_of(value, weights) for value in op.operands]
    return [np.asarray(array) for array in found if array is not None]
