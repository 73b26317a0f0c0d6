"""Guarded reads that are padding: a tensor in the middle of zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import copysign

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.frontend.te.bounds import linear
from stepwell.frontend.te.expressions import Axis, Call, Expr, Number, Read
from stepwell.frontend.te.tensors import Stage, Tensor
from stepwell.runtime.dims import Dim

_AT_LEAST = {"ge": (1, 0), "gt": (1, 1), "le": (-1, 0), "lt": (-1, 1)}
"""For each comparison of a and b the sign s and the number n with s * (a - b) >= n."""


def padding_of(stage: Stage) -> tuple[Tensor, list[int]] | None:
    """
    The padding that a stage computes: the tensor, and the numbers of zeros before each dimension, then after
    each.

    Returns: None for other stages, such as a guarded read whose condition is not a box of the tensor.
    """
    if stage.reduction is not None or len(stage.values) != 1:
        return None
    match stage.values[0]:
        case Call(op="if_then_else", parts=(condition, Read() as read, Number(value=number))):
            if read.is_clamped or number != 0 or copysign(1, number) < 0:
                return None
        case _:
            return None
    lows = _offsets(read, stage.axes)
    bounds = _bounds(condition)
    if lows is None or bounds is None or any(not _is_of(stage, axis) for axis, _ in bounds):
        return None
    highs: list[int] = []
    for axis, low, dim in zip(stage.axes, lows, read.tensor.dims, strict=True):
        high = axis.extent - low - dim
        if not high.is_static or min(low, high.value) < 0:
            return None
        own = [(sign, bound) for each, (sign, bound) in bounds if each is axis]
        if not _is_box(own, (Dim.of(low), Dim.of(low) + dim - 1), (low > 0, high.value > 0)):
            return None
        highs.append(high.value)
    return read.tensor, [*lows, *highs]


def _is_of(stage: Stage, axis: Axis) -> bool:
    return any(axis is own for own in stage.axes)  # `in` would compare formulas


def pad_op(pads: Sequence[int], value: SSAValue) -> graph.PadOp:
    """The op of padding."""
    return graph.PadOp(value, [Dim.of(n) for n in pads])


def _offsets(read: Read, axes: Sequence[Axis]) -> list[int] | None:
    """The index of the first element along each axis, for a read at each axis less a number."""
    if len(read.indices) != len(axes):
        return None
    found: list[int] = []
    for index, axis in zip(read.indices, axes, strict=True):
        terms, constant = linear(index)
        is_axis = len(terms) == 1 and all(atom is axis and factor == 1 for atom, factor in terms.items())
        if not is_axis or not constant.is_static or constant.value > 0:
            return None
        found.append(-constant.value)
    return found


def _bounds(condition: Expr) -> list[tuple[Axis, tuple[int, Dim]]] | None:
    """The bounds that a condition joins: an axis, 1 for a lower one or -1, and the bound; None for others."""
    found: list[tuple[Axis, tuple[int, Dim]]] = []
    for part in _joined(condition):
        if not isinstance(part, Call) or part.op not in _AT_LEAST:
            return None
        sign, more = _AT_LEAST[part.op]
        terms, constant = linear(part.parts[0] - part.parts[1])
        ((axis, factor),) = terms.items() if len(terms) == 1 else ((None, Dim.of(0)),)
        if not isinstance(axis, Axis) or factor not in (1, -1):
            return None
        side = sign * (1 if factor == 1 else -1)
        # side * axis + sign * constant >= more
        rest = constant * sign - more
        found.append((axis, (side, -rest if side == 1 else rest)))
    return found


def _joined(condition: Expr) -> Iterator[Expr]:
    """The conditions of a conjunction."""
    if isinstance(condition, Call) and condition.op == "all":
        for part in condition.parts:
            yield from _joined(part)
    else:
        yield condition


def _is_box(bounds: Sequence[tuple[int, Dim]], box: tuple[Dim, Dim], needed: tuple[bool, bool]) -> bool:
    """Whether bounds of an axis are those of a box; a side without padding needs none."""
    sides = {1: box[0], -1: box[1]}
    if any(bound != sides[side] for side, bound in bounds):
        return False
    given = {side for side, _ in bounds}
    return all(side in given for side, is_needed in zip((1, -1), needed, strict=True) if is_needed)
