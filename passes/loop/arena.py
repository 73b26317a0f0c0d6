"""
Arena planning: offsets for buffers whose lifetimes are known, so that buffers that never live together share
memory.

Buffers of known size are placed greedily, largest first, each at the lowest offset that no living neighbour
covers (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", greedy by size).
Buffers of symbolic size share whole slots: a slot serves any number of buffers that do not live together and
provably fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class Interval:
    """A buffer: its size in bytes, and the first and last position of the program at which it is alive."""

    name: str
    size: Dim
    first: int
    last: int

    def overlaps(self, other: Interval) -> bool:
        """Whether both are alive at some position."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class ArenaPlan:
    """Where each buffer lies, in the order in which they were given."""

    offsets: tuple[Dim, ...]
    total: Dim
    """Bytes of the whole arena."""
    sum_of_sizes: Dim
    """Bytes that the buffers would take without sharing."""


def plan_arena(buffers: Sequence[Interval]) -> ArenaPlan:
    """Offsets, aligned to cache lines, for buffers such that no two that live together overlap."""
    offsets: list[Dim | None] = [None] * len(buffers)
    static_bytes = _place_static(buffers, offsets)
    total = _place_symbolic(buffers, offsets, Dim.of(static_bytes))
    sizes = sum((_aligned(b.size) for b in buffers), Dim.of(0))
    return ArenaPlan(tuple(o for o in offsets if o is not None), total, sizes)


def _aligned(size: Dim) -> Dim:
    return size.ceildiv(ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def _place_static(buffers: Sequence[Interval], offsets: list[Dim | None]) -> int:
    """Offsets for buffers of known size; returns the bytes they take together."""
    order = sorted(
        (i for i, b in enumerate(buffers) if b.size.is_static),
        key=lambda i: (-buffers[i].size.value, buffers[i].first),
    )
    placed: list[tuple[int, int, Interval]] = []  # (begin, end, buffer), sorted by begin
    peak = 0
    for index in order:
        buffer = buffers[index]
        need = _aligned(buffer.size).value
        begin = 0
        for low, high, other in placed:
            if not other.overlaps(buffer):
                continue
            if low - begin >= need:
                break
            begin = max(begin, high)
        placed.append((begin, begin + need, buffer))
        placed.sort(key=lambda entry: entry[0])
        offsets[index] = Dim.of(begin)
        peak = max(peak, begin + need)
    return peak


@dataclass
class _Slot:
    size: Dim
    buffers: list[Interval]


def _place_symbolic(buffers: Sequence[Interval], offsets: list[Dim | None], base: Dim) -> Dim:
    """Offsets for buffers of symbolic size, behind `base`; returns the end of the arena."""
    slots: list[_Slot] = []
    slot_of: dict[int, _Slot] = {}
    symbolic = [i for i, b in enumerate(buffers) if not b.size.is_static]
    order = sorted(symbolic, key=lambda i: -_rank(buffers[i].size))
    for index in order:
        buffer = buffers[index]
        for slot in slots:
            if (slot.size - buffer.size).is_nonnegative and not any(b.overlaps(buffer) for b in slot.buffers):
                break
        else:
            slot = _Slot(buffer.size, [])
            slots.append(slot)
        slot.buffers.append(buffer)
        slot_of[index] = slot
    end = base
    begins: dict[int, Dim] = {}
    for slot in slots:
        begins[id(slot)] = end
        end = end + _aligned(slot.size)
    for index, slot in slot_of.items():
        offsets[index] = begins[id(slot)]
    return end


_TYPICAL_SIZE = 64  # orders symbolic sizes; any choice gives a right plan


def _rank(size: Dim) -> int:
    return size.evaluate(dict.fromkeys(size.symbols(), _TYPICAL_SIZE))
