"""Schedules of elementwise ops that read an operand transposed: blocks, which registers transpose."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg

from stepwell.dialects.costs.machine import LINE, spread_bytes, stays_in_l2
from stepwell.dialects.costs.schedules import ELEMENTWISE
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.groups import Member, fused_group
from stepwell.dialects.tensor_ir.register_file import register_file
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    map_dims,
    single_dim,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.types import element_bytes
from stepwell.runtime.machine.target import TargetDescription


class TransposedRead(NamedTuple):
    """An operand of an op of a group, with the lanes in an outer dimension; its loops are the anchor's."""

    member: Member
    operand: int
    loop: int
    """The one along the operand's last dimension."""


def transposed_read(anchor: Structured, lanes: int) -> TransposedRead | None:
    """
    The transposed operand of an op, or of an op in its group; None if there is none.

    Its vectors would be gathered element by element; a block of it is read by rows and transposed, and where
    whole rows are shorter, some registers of consecutive rows are read.
    """
    alone = Member(anchor, tuple(range(anchor.rank)))
    if (read := _read_of(alone, lanes)) is not None:
        return read
    if not any(isinstance(value.owner, linalg.GenericOp) for value in anchor.inputs):
        return None
    group = fused_group(anchor, range(anchor.rank))
    return next((read for member in group if (read := _read_of(member, lanes)) is not None), None)


def _read_of(member: Member, lanes: int) -> TransposedRead | None:
    view, own = member.view, member.loop_of.index(lanes)
    if not all(view.parallel):
        return None
    for number, value in enumerate(view.inputs):
        map, arg = view.maps[number], view.body.args[number]
        if arg.first_use is None or not isinstance(value.type, TensorType) or not map.results:
            continue
        last = single_dim(map.results[-1])
        moves = any(single_dim(expr) == own for expr in map.results[:-1])
        if last is None or last == own or not moves or not _is_long(view.extents[own]):
            continue
        width, around = view.extents[last], [single_dim(expr) for expr in map.results[-2:]]
        alternates = around == [own, last] and tensor_shape(value)[-1] == width
        if (_is_long(width) or (alternates and width != 1)) and (loop := member.loop_of[last]) is not None:
            return TransposedRead(member, number, loop)
    return None


def _is_long(extent: int | None) -> bool:
    return extent is None or extent >= ELEMENTWISE.least_block


def schedule_blocks(
    view: Structured, out: Sequence[int], read: TransposedRead, target: TargetDescription, length: int
) -> Schedule | None:
    """
    A schedule of blocks over the lanes and the transposed loop, a register's lanes on a side.

    A block of fewer elements than a cache line reads a part of each line. When the line has left the level-1
    cache before the next part is due, blocks are as long as lines; when it has left the level-2 cache too,
    the blocks follow each other along the operand instead, and are as wide as the lines of the result.

    Args: `length` is the number of ops of the anchor's body, which is unrolled for each vector of a block.
    """
    is_long, lanes = _is_long(view.extents[read.loop]), register_file(view, target).lanes
    side = min(lanes, ELEMENTWISE.largest_block) if is_long else lanes
    sides, order = {read.loop: side, out[-1]: side}, list(out)
    line = _line_of(read, side)
    if line * side // lanes * length > ELEMENTWISE.epilogue_ops:
        line = side
    spread = _spread_bytes(view, out, read) if is_long else 0
    if spread > target.l1_bytes and stays_in_l2(spread, target):
        sides[read.loop] = line
    elif spread > target.l1_bytes:
        sides[out[-1]] = line
        order = [*(d for d in out if d != read.loop), read.loop]
    tile = [0 if n == 1 else 1 for n in view.extents]
    for dim, width in sides.items():
        extent = view.extents[dim]
        tile[dim] = 0 if extent is not None and extent <= width else width
    loops = tuple(d for d in order if tile[d])
    return Schedule(tuple(tile), parallel=loops, vectorize=out[-1]) if view.can_slice(set(loops)) else None


def _line_of(read: TransposedRead, side: int) -> int:
    """The elements of a cache line of the operand, from the side of a square block to the largest side."""
    element = tensor_element(read.member.view.inputs[read.operand])
    return max(side, min(LINE // element_bytes(element), ELEMENTWISE.largest_block))


def _spread_bytes(view: Structured, out: Sequence[int], read: TransposedRead) -> int:
    """The bytes of a cache that hold the operand's lines from one visit to the next; 0 where not known."""
    reader, loop_of = read.member.view, read.member.loop_of
    moving = {loop_of[d] for d in map_dims(reader.maps[read.operand])}
    inside = [view.extents[d] for d in out[out.index(read.loop) + 1 :] if d in moving]
    stride_bytes = reader.stride_bytes(read.operand, loop_of.index(out[-1]))
    known = [n for n in inside if n is not None]
    return spread_bytes(prod(known), stride_bytes) if known == inside and stride_bytes else 0
