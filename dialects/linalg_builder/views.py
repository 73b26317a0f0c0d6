"""
Views that split and join dimensions, and tensors with padding around and between elements, inside kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.linalg_builder.support import extent, filled
from stepwell.dialects.tensor_ir.reshapes import consecutive_groups
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim


def _i64s(numbers: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, numbers)


def split_dims(value: SSAValue, groups: Sequence[Sequence[Dim]], rewriter: PatternRewriter) -> SSAValue:
    """A view of a tensor with each dimension split into a group of dimensions, row-major."""
    if all(len(group) == 1 for group in groups):
        return value
    dims = [dim for group in groups for dim in group]
    sizes = [extent(dim, rewriter) for dim in dims if not dim.is_static]
    type = tensor_type(tensor_of(value).element_type, dims)
    shape = [dim.value if dim.is_static else DYNAMIC_INDEX for dim in dims]
    op = tensor.ExpandShapeOp(value, sizes, consecutive_groups(map(len, groups)), shape, type)
    return rewriter.insert(op).result


def join_dims(value: SSAValue, groups: Sequence[Sequence[Dim]], rewriter: PatternRewriter) -> SSAValue:
    """A view of a tensor with each group of dimensions joined into one: the inverse of `split_dims`."""
    if all(len(group) == 1 for group in groups):
        return value
    joined: list[Dim] = []
    for group in groups:
        product = Dim.of(1)
        for dim in group:
            product = product * dim
        joined.append(product)
    type = tensor_type(tensor_of(value).element_type, joined)
    reassociation = consecutive_groups(map(len, groups))
    op = tensor.CollapseShapeOp.build(
        operands=[value], result_types=[type], properties={"reassociation": reassociation}
    )
    return rewriter.insert(op).result


def pad_tensor(
    value: SSAValue,
    low: Sequence[int | Dim],
    high: Sequence[int | Dim],
    number: float,
    rewriter: PatternRewriter,
    *,
    strides: Sequence[int] | None = None,
) -> SSAValue:
    """
    A tensor of `number` into which `value` is inserted.

    `low` and `high` are the cells before and after it along each dimension; `strides`, if given, the distance
    of its neighbouring elements in the result.
    """
    steps = strides or [1] * len(low)
    if all(cells == 0 for cells in (*low, *high)) and all(step == 1 for step in steps):
        return value
    low, high = [Dim.of(cells) for cells in low], [Dim.of(cells) for cells in high]
    dims = dims_of(value.type)
    sizes = [
        (dim - 1) * step + 1 + (before + after) if step > 1 else dim + (before + after)
        for dim, before, after, step in zip(dims, low, high, steps, strict=True)
    ]
    padding = filled(tensor_type(tensor_of(value).element_type, sizes), number, rewriter)
    dynamic = [extent(dim, rewriter) for dim in dims if not dim.is_static]
    op = tensor.InsertSliceOp.build(
        operands=[value, padding, [extent(d, rewriter) for d in low if not d.is_static], dynamic, []],
        result_types=[padding.type],
        properties={
            "static_offsets": _i64s(_numbers(low)),
            "static_sizes": _i64s(_numbers(dims)),
            "static_strides": _i64s(steps),
        },
    )
    return rewriter.insert(op).result


def _numbers(dims: Sequence[Dim]) -> list[int]:
    """The static numbers of a slice op for dimensions; dynamic ones are marked."""
    return [dim.value if dim.is_static else DYNAMIC_INDEX for dim in dims]
