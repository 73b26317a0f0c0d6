"""
Arena planning: offsets for buffers of known lifetimes, so that buffers with disjoint lifetimes share memory.

Buffers of known size are placed greedily, largest first, each at the lowest offset where it overlaps no
buffer that is alive at the same time (Pisarchyk and Lee 2020, "Efficient memory management for deep neural
net inference", greedy by size). Buffers of symbolic size share whole slots: a slot serves any number of
buffers with disjoint lifetimes that provably fit.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate

import numpy as np
from xdsl.ir import Operation

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import MAX_TENSOR_BYTES


@dataclass(frozen=True)
class Interval:
    """The size of a buffer in bytes, and its lifetime: the first and last program position with it alive."""

    name: str
    size: Dim
    first: int
    last: int


@dataclass(frozen=True)
class ArenaPlan:
    """The offset of each buffer in the arena, in the order of `plan_arena`'s argument, and sizes in total."""

    offsets: tuple[Dim, ...]
    parts: tuple[Dim, ...]
    """Bytes of the arena's parts: of all buffers of known size, then of each slot for symbolic sizes."""
    sum_of_sizes: Dim
    """Bytes that the buffers would need without sharing."""

    @property
    def begins(self) -> tuple[Dim, ...]:
        """The offset of each part."""
        return tuple(accumulate(self.parts[:-1], initial=Dim.of(0)))

    @cached_property
    def total(self) -> Dim:
        """Bytes of the whole arena."""
        return sum(self.parts, Dim.of(0))


def plan_arena(buffers: Sequence[Interval], alignment: int = ARENA_ALIGNMENT) -> ArenaPlan:
    """
    Offsets for buffers, all multiples of `alignment`, such that no two with intersecting lifetimes overlap.

    Raises: StepwellError `too-large` for a buffer larger than any memory.
    """
    offsets: list[Dim | None] = [None] * len(buffers)
    static_bytes = Dim.of(_place_static(buffers, offsets, alignment))
    parts = [static_bytes, *_place_symbolic(buffers, offsets, static_bytes, alignment)]
    sizes = sum((aligned(b.size, alignment) for b in buffers), Dim.of(0))
    return ArenaPlan(tuple(o for o in offsets if o is not None), tuple(parts), sizes)


def aligned(size: Dim, alignment: int = ARENA_ALIGNMENT) -> Dim:
    """A size rounded up to the alignment of allocations: by default to cache lines."""
    return size.ceildiv(alignment) * alignment


def expect_alignment(alignment: int, at: Operation) -> None:
    """Require a power of two from a cache line on. Raises: StepwellError `bad-option`."""
    if alignment < ARENA_ALIGNMENT or alignment & (alignment - 1):
        message = f"alignment must be a power of two from {ARENA_ALIGNMENT} on, found {alignment}"
        raise StepwellError("bad-option", at, message)


class Placed:
    """The buffers of known size that have offsets: a table with rows begin, end, first and last position."""

    def __init__(self, count: int):
        self._table = np.empty((4, count), np.int64)
        self._count = 0

    def lowest_gap(self, buffer: Interval, need: int) -> int:
        """The lowest offset of `need` bytes that no placed buffer with an intersecting lifetime overlaps."""
        begin, end, first, last = self._table[:, : self._count]
        alive = np.flatnonzero((first <= buffer.last) & (last >= buffer.first))
        in_order = alive[np.argsort(begin[alive], kind="stable")]
        covered = np.maximum.accumulate(np.concatenate(([0], end[in_order])))
        gaps = np.flatnonzero(begin[in_order] - covered[:-1] >= need)
        return int(covered[gaps[0]] if gaps.size else covered[-1])

    def add(self, begin: int, end: int, buffer: Interval) -> None:
        """Append a buffer with its begin and end offsets to the table."""
        self._table[:, self._count] = begin, end, buffer.first, buffer.last
        self._count += 1


def _place_static(buffers: Sequence[Interval], offsets: list[Dim | None], alignment: int) -> int:
    """Assign offsets to the buffers of known size, greedily by size; returns the bytes up to their end."""
    order = sorted(
        (i for i, b in enumerate(buffers) if b.size.is_static),
        key=lambda i: (-buffers[i].size.value, buffers[i].first),
    )
    placed = Placed(len(order))
    peak = 0
    for index in order:
        need = aligned(buffers[index].size, alignment).value
        if need > MAX_TENSOR_BYTES:
            raise StepwellError("too-large", None, f"{buffers[index].name} would take {need} bytes")
        begin = placed.lowest_gap(buffers[index], need)
        placed.add(begin, begin + need, buffers[index])
        offsets[index] = Dim.of(begin)
        peak = max(peak, begin + need)
    return peak


@dataclass
class _Slot:
    """A part of the arena that several buffers of symbolic size use, with disjoint lifetimes."""

    size: Dim
    firsts: list[int] = field(default_factory=list[int])
    lasts: list[int] = field(default_factory=list[int])

    def is_free_for(self, buffer: Interval) -> bool:
        """Whether a buffer's lifetime is disjoint from those of all buffers in the slot."""
        earlier = bisect_right(self.firsts, buffer.last)
        return earlier == 0 or self.lasts[earlier - 1] < buffer.first

    def add(self, buffer: Interval) -> None:
        """Add a buffer's lifetime to the slot."""
        insort(self.firsts, buffer.first)
        insort(self.lasts, buffer.last)


def _place_symbolic(
    buffers: Sequence[Interval], offsets: list[Dim | None], base: Dim, alignment: int
) -> list[Dim]:
    """Assign offsets from `base` on to the buffers of symbolic size; returns the sizes of their slots."""
    of_size: dict[Dim, list[int]] = {}
    for index, buffer in enumerate(buffers):
        if not buffer.size.is_static:
            of_size.setdefault(buffer.size, []).append(index)
    slots: list[_Slot] = []
    slot_of: dict[int, _Slot] = {}
    for size in sorted(of_size, key=_rank, reverse=True):
        slots += _share_slots(size, [(i, buffers[i]) for i in of_size[size]], slots, slot_of)
    end = base
    begins: dict[int, Dim] = {}
    for slot in slots:
        begins[id(slot)] = end
        end = end + aligned(slot.size, alignment)
    for index, slot in slot_of.items():
        offsets[index] = begins[id(slot)]
    return [aligned(slot.size, alignment) for slot in slots]


def _share_slots(
    size: Dim, buffers: Iterable[tuple[int, Interval]], slots: Sequence[_Slot], slot_of: dict[int, _Slot]
) -> list[_Slot]:
    """Assign each buffer of a symbolic size a slot, one of `slots` or a new one; returns the new slots."""
    larger = [slot for slot in slots if (slot.size - size).is_nonnegative]
    made: list[_Slot] = []
    ends: list[tuple[int, int]] = []  # of the new slots, a heap: when the last buffer ends, which slot
    for index, buffer in sorted(buffers, key=lambda entry: entry[1].first):
        slot = next((slot for slot in larger if slot.is_free_for(buffer)), None)
        if slot is None:
            if ends and ends[0][0] < buffer.first:
                number = heappop(ends)[1]
            else:
                number = len(made)
                made.append(_Slot(size))
            slot = made[number]
            heappush(ends, (buffer.last, number))
        slot.add(buffer)
        slot_of[index] = slot
    return made


_TYPICAL_SIZE = 64  # of a symbol, to sort symbolic sizes; every value gives a valid plan


def _rank(size: Dim) -> int:
    return size.evaluate(dict.fromkeys(size.symbols(), _TYPICAL_SIZE))
