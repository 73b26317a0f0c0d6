"""Sizes and strides of views of memrefs, for conversions to pointers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.runtime.errors import StepwellError


def mixed_numbers(
    static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue], number_of: Callable[[SSAValue], Index]
) -> list[Index]:
    """Static and dynamic numbers of an op, in order. Args: `number_of` finds the number of a constant."""
    values = iter(dynamic)
    return [
        number_of(next(values)) if number == DYNAMIC_INDEX else int(number) for number in static.get_values()
    ]


def kept_dims(sizes: Sequence[Index], shape: Sequence[int], op: Operation) -> list[int]:
    """
    The dimensions of a subview that are in the result's shape; some of size 1 may be dropped.

    Raises: StepwellError `invalid-ir` where another one is.
    """
    if len(sizes) == len(shape):
        return list(range(len(sizes)))
    kept: list[int] = []
    wanted = list(shape)
    for dim, size in enumerate(sizes):
        matches = bool(wanted) and (wanted[0] == size or (wanted[0] < 0 and not isinstance(size, int)))
        if matches and not (size == 1 and len(sizes) - dim > len(wanted)):
            kept.append(dim)
            wanted.pop(0)
        elif size != 1:
            raise StepwellError("invalid-ir", op, f"memref.subview drops dimension {dim} of size {size}")
    return kept


def groups_of(reassociation: ArrayAttr[ArrayAttr[IntegerAttr]]) -> list[list[int]]:
    """The groups of dimensions of a `reassociation` attribute."""
    return [[index.value.data for index in group] for group in reassociation]


def collapsed(
    emit: IRBuilder, groups: Sequence[Sequence[int]], sizes: Sequence[Index | None], strides: Sequence[Index]
) -> tuple[tuple[Index | None, ...], tuple[Index, ...]]:
    """
    The size and stride of each group of joined dimensions. A size is None if one in the group is unknown; the
    stride is taken from the innermost dimension with more than one element.
    """
    totals: list[Index | None] = []
    steps: list[Index] = []
    for group in groups:
        totals.append(_product(emit, [sizes[d] for d in group]))
        wide = [d for d in group if sizes[d] != 1]
        steps.append(strides[wide[-1]] if wide else strides[group[-1]] if group else 1)
    return tuple(totals), tuple(steps)


def expanded(
    emit: IRBuilder, groups: Sequence[Sequence[int]], sizes: Sequence[Index], strides: Sequence[Index]
) -> tuple[Index, ...]:
    """The strides of dimensions that are split into groups of some sizes."""
    steps: list[Index] = [1] * len(sizes)
    for stride, group in zip(strides, groups, strict=True):
        for inner in reversed(group):
            steps[inner] = stride
            stride = emit.times(stride, sizes[inner])
    return tuple(steps)


def _product(emit: IRBuilder, sizes: Sequence[Index | None]) -> Index | None:
    total: Index | None = 1
    for size in sizes:
        total = None if size is None or total is None else emit.times(total, size)
    return total
