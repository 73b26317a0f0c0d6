"""Types of buffers: dense for a whole buffer, strided for a view."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.types import Tensor

MemRef: TypeAlias = MemRefType[Attribute]
Reassociation: TypeAlias = ArrayAttr[ArrayAttr[IntegerAttr]]


def memref_of(value: SSAValue) -> MemRef:
    """The memref type of a value. Raises: TypeError when it has another type."""
    type: Attribute = value.type
    if not isinstance(type, MemRefType):
        raise TypeError(f"expected a memref, found {type}")
    return cast(MemRef, type)


@lru_cache(maxsize=4096)
def dense(type: Tensor) -> MemRef:
    """The dense row-major buffer of a tensor (interned)."""
    return MemRefType(type.element_type, type.get_shape())


def strides_of(type: MemRef) -> Sequence[int | None]:
    """Strides in elements along each dimension; None where a stride is known at run time only."""
    strides = type.get_strides()
    if strides is None:
        raise TypeError(f"expected strides, found {type}")
    return strides


def is_dense(type: MemRef) -> bool:
    """Whether the elements are contiguous in row-major order, as far as the type says."""
    if isinstance(type.layout, NoneAttr):
        return True
    return list(strides_of(type)) == list(MemRefType.strides_for_shape(type.get_shape())) and all(
        n != DYNAMIC_INDEX for n in type.get_shape()[1:]
    )


def kept_dims(sizes: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """
    The dimensions of a slice that its rank-reduced result has; the dropped ones have extent 1.

    Args: `sizes` of the slice and `shape` of the result, dynamic ones as `DYNAMIC_INDEX`.
    Returns: positions in `sizes`; None when no choice gives the shape.
    """
    kept: list[int] = []
    wanted = list(shape)
    for position, size in enumerate(sizes):
        if wanted and size == wanted[0]:
            kept.append(position)
            wanted.pop(0)
        elif size != 1:
            return None
    return kept if not wanted else None


@lru_cache(maxsize=4096)
def slice_type(
    source: MemRef,
    offsets: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    kept: tuple[int, ...],
) -> MemRef:
    """The type (interned) of a slice of a buffer; numbers known at run time only are `DYNAMIC_INDEX`."""
    offset = source.get_offset()
    result_strides: list[int | None] = []
    for at, step, stride in zip(offsets, strides, strides_of(source), strict=True):
        if at != 0:
            if offset is None or stride is None or at == DYNAMIC_INDEX:
                offset = None
            else:
                offset += at * stride
        result_strides.append(None if stride is None or step == DYNAMIC_INDEX else stride * step)
    layout = StridedLayoutAttr([result_strides[i] for i in kept], offset)
    return MemRefType(source.element_type, [sizes[i] for i in kept], layout)


def groups_of(reassociation: Reassociation) -> list[list[int]]:
    """The groups of a reassociation, as positions."""
    return [[i.value.data for i in group] for group in reassociation]


def collapsed_type(source: MemRef, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> MemRef | None:
    """
    The type of a buffer with groups of dimensions merged; None when a group is not evenly spaced.

    Also None where the last dimension would stop being contiguous, as vectors need it: `5x2x1` out of `5x2x2`
    has a last dimension without gaps, of one element, but its ten elements have gaps.
    """
    if is_dense(source) and source.get_offset() == 0:
        return MemRefType(source.element_type, shape)
    extents, strides = source.get_shape(), strides_of(source)
    merged: list[int | None] = []
    for group in groups:
        inner = [i for i in group if extents[i] != 1]
        for i, j in zip(inner, inner[1:], strict=False):
            stride, extent = strides[j], extents[j]
            if stride is None or extent == DYNAMIC_INDEX or strides[i] != stride * extent:
                return None
        merged.append(strides[inner[-1]] if inner else 1)
    if merged and merged[-1] != 1 and strides[-1] == 1:
        return None
    return MemRefType(source.element_type, shape, StridedLayoutAttr(merged, source.get_offset()))


def expanded_type(source: MemRef, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> MemRef:
    """The type of a buffer with each dimension split into a group of dimensions."""
    if isinstance(source.layout, NoneAttr):
        return MemRefType(source.element_type, shape)
    strides: list[int | None] = [None] * len(shape)
    for group, stride in zip(groups, strides_of(source), strict=True):
        for i in reversed(group):
            strides[i] = stride
            stride = None if stride is None or shape[i] == DYNAMIC_INDEX else stride * shape[i]
    return MemRefType(source.element_type, shape, StridedLayoutAttr(strides, source.get_offset()))
