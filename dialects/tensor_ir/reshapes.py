"""Views of tensors in other shapes: neighbouring dimensions merged, and split again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.types import tensor_of


def collapse(emit: IRBuilder, value: SSAValue, groups: Sequence[Sequence[int]]) -> SSAValue:
    """A tensor with each group of dimensions merged: a view, or a new empty tensor for an empty one."""
    shape = tensor_shape(value)
    if len(groups) == len(shape):
        return value
    sizes = [
        DYNAMIC_INDEX if DYNAMIC_INDEX in (own := [shape[t] for t in group]) else prod(own)
        for group in groups
    ]
    type = TensorType(tensor_element(value), sizes)
    if isinstance(value.owner, tensor.EmptyOp):
        dynamic = [
            emit.materialize(reduce(emit.times, (dim_size(emit, value, t) for t in group), 1))
            for group, size in zip(groups, sizes, strict=True)
            if size == DYNAMIC_INDEX
        ]
        return emit.value(tensor.EmptyOp(dynamic, type))
    op = tensor.CollapseShapeOp.create(
        operands=[value], result_types=[type], properties={"reassociation": _reassociation(groups)}
    )
    return emit.value(op)


def expand(emit: IRBuilder, merged: SSAValue, like: SSAValue, groups: Sequence[Sequence[int]]) -> SSAValue:
    """A tensor whose dimensions are groups of those of `like`, in the shape of `like`."""
    if merged.type == like.type:
        return merged
    shape = tensor_shape(like)
    sizes = [emit.materialize(dim_size(emit, like, t)) for t, n in enumerate(shape) if n == DYNAMIC_INDEX]
    return emit.value(tensor.ExpandShapeOp(merged, sizes, _reassociation(groups), shape, tensor_of(like)))


def _reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """The `reassociation` attribute of groups of dimensions."""
    return ArrayAttr([ArrayAttr([IntegerAttr(t, i64) for t in group]) for group in groups])


def consecutive_groups(lengths: Iterable[int]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """The `reassociation` attribute of consecutive groups of dimensions of these lengths."""
    return _reassociation([range(*ends) for ends in pairwise([0, *accumulate(lengths)])])


def joined_rows(rank: int) -> list[list[int]]:
    """The reassociation of a tensor that merges its last two dimensions."""
    return [*([d] for d in range(rank - 2)), [rank - 2, rank - 1]]
