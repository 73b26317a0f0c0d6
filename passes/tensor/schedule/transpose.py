"""Schedules of elementwise ops that read an operand transposed: blocks, which registers transpose."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType

from stepwell.dialects.costs.machine import LINE, spread_bytes, stays_in_l2
from stepwell.dialects.costs.schedules import ELEMENTWISE
from stepwell.dialects.sched import Schedule
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
    """An operand with the lanes in an outer dimension, and the loop along its last one."""

    operand: int
    loop: int


def transposed_read(view: Structured, lanes: int) -> TransposedRead | None:
    """
    The operand that is read transposed, with its innermost loop; None without one.

    Its vectors would be gathered element by element; a block of it is read by rows and transposed, and where
    whole rows are shorter, some registers of consecutive rows are read.
    """
    for number, value in enumerate(view.inputs):
        map, arg = view.maps[number], view.body.args[number]
        if arg.first_use is None or not isinstance(value.type, TensorType) or not map.results:
            continue
        last = single_dim(map.results[-1])
        moves = any(single_dim(expr) == lanes for expr in map.results[:-1])
        if not moves or last in (None, lanes) or not _is_long(view.extents[lanes]):
            continue
        width, around = view.extents[last], [single_dim(expr) for expr in map.results[-2:]]
        alternates = around == [lanes, last] and tensor_shape(value)[-1] == width
        if _is_long(width) or (alternates and width != 1):
            return TransposedRead(number, last)
    return None


def _is_long(extent: int | None) -> bool:
    return extent is None or extent >= ELEMENTWISE.least_block


def schedule_blocks(
    view: Structured, out: Sequence[int], read: TransposedRead, target: TargetDescription
) -> Schedule | None:
    """
    A schedule of blocks over the lanes and the transposed loop, a register's lanes on a side.

    A block of fewer elements than a cache line reads a part of each line. When the line has left the level-1
    cache before the next part is due, blocks are as long as lines; when it has left the level-2 cache too,
    the blocks follow each other along the operand instead, and are as wide as the lines of the result.
    """
    is_long, lanes = _is_long(view.extents[read.loop]), register_file(view, target).lanes
    side = min(lanes, ELEMENTWISE.largest_block) if is_long else lanes
    sides, order = {read.loop: side, out[-1]: side}, list(out)
    line = min(LINE // element_bytes(tensor_element(view.inputs[read.operand])), ELEMENTWISE.largest_block)
    spread = _spread_bytes(view, out, read) if is_long else 0
    if spread > target.l1_bytes and stays_in_l2(spread, target):
        sides[read.loop] = max(side, line)
    elif spread > target.l1_bytes:
        sides[out[-1]] = max(side, line)
        order = [*(d for d in out if d != read.loop), read.loop]
    tile = [0 if n == 1 else 1 for n in view.extents]
    for dim, width in sides.items():
        extent = view.extents[dim]
        tile[dim] = 0 if extent is not None and extent <= width else width
    loops = tuple(d for d in order if tile[d])
    return Schedule(tuple(tile), parallel=loops, vectorize=out[-1]) if view.can_slice(set(loops)) else None


def _spread_bytes(view: Structured, out: Sequence[int], read: TransposedRead) -> int:
    """The bytes of a cache that hold the operand's lines from one visit to the next; 0 where not known."""
    moving = map_dims(view.maps[read.operand])
    inside = [view.extents[d] for d in out[out.index(read.loop) + 1 :] if d in moving]
    stride_bytes = view.stride_bytes(read.operand, out[-1])
    known = [n for n in inside if n is not None]
    return spread_bytes(prod(known), stride_bytes) if known == inside and stride_bytes else 0
