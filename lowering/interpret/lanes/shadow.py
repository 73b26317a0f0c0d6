"""
Shadow memory, which shows data races: the last writer and readers of each cell, and the barriers before.

Two accesses of a cell by different threads, one of them a store, race unless a barrier of their block is
between; threads of different blocks have no barrier.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepwell.lowering.interpret.lanes.state import Lanes

_NONE = -1


@dataclass
class Conflict:
    """Two threads that race: numbers in the launch, the cell, and the first access."""

    first: int
    second: int
    position: int
    """The position of the second access among those that were checked."""
    op: Any
    """The first access, as it was noted."""


class Shadow:
    """
    The last accesses of each cell.

    A tag is a block and the number of barriers that it passed; two readers with the same tag suffice to know
    whether there is another reader than a given thread, and two readers of different blocks likewise.
    """

    def __init__(self, cells: int, threads: int, *, is_shared_by_blocks: bool):
        self._threads = threads
        self._across = is_shared_by_blocks
        self._ops: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        fields = ("writer", "wrote", "reader", "other", "read", "wop", "rop", "block_reader", "block_other")
        for name in fields:
            setattr(self, name, np.full(cells, _NONE, np.int64))

    writer: Lanes
    wrote: Lanes
    reader: Lanes
    other: Lanes
    read: Lanes
    wop: Lanes
    rop: Lanes
    block_reader: Lanes
    block_other: Lanes

    def _op(self, op: Hashable) -> int:
        if op not in self._number:
            self._number[op] = len(self._ops)
            self._ops.append(op)
        return self._number[op]

    def load(self, op: Hashable, cells: Lanes, threads: Lanes, tags: Lanes) -> Conflict | None:
        """Note loads of cells by threads; returns a race with an earlier store."""
        if (found := self._with_store(cells, threads, tags)) is not None:
            return found
        stale = self.read[cells] != tags
        fresh = cells[stale]
        self.other[fresh] = _NONE
        self.reader[fresh] = threads[stale]
        self.read[fresh] = tags[stale]
        self.rop[cells] = self._op(op)
        different = self.reader[cells] != threads
        self.other[cells[different]] = threads[different]
        if self._across:
            unread = self.block_reader[cells] == _NONE
            self.block_reader[cells[unread]] = threads[unread]
            foreign = self._block(self.block_reader[cells]) != self._block(threads)
            self.block_other[cells[foreign]] = threads[foreign]
        return None

    def store(self, op: Hashable, cells: Lanes, threads: Lanes, tags: Lanes) -> Conflict | None:
        """Note stores to cells by threads; returns a race with an earlier access, or among them."""
        found = self._with_store(cells, threads, tags) or self._with_loads(cells, threads, tags)
        if found is not None:
            return found
        self.writer[cells] = threads
        self.wrote[cells] = tags
        self.wop[cells] = self._op(op)
        return self._first(self.writer[cells] != threads, self.writer, self.wop, cells, threads)

    def _with_store(self, cells: Lanes, threads: Lanes, tags: Lanes) -> Conflict | None:
        writers = self.writer[cells]
        same = self.wrote[cells] == tags
        if self._across:
            same |= self._block(writers) != self._block(threads)
        races = (writers != _NONE) & (writers != threads) & same
        return self._first(races, self.writer, self.wop, cells, threads)

    def _with_loads(self, cells: Lanes, threads: Lanes, tags: Lanes) -> Conflict | None:
        current = self.read[cells] == tags
        for readers in (self.reader, self.other):
            found = readers[cells]
            races = current & (found != _NONE) & (found != threads)
            if (conflict := self._first(races, readers, self.rop, cells, threads)) is not None:
                return conflict
        if self._across:
            for readers in (self.block_reader, self.block_other):
                found = readers[cells]
                races = (found != _NONE) & (self._block(found) != self._block(threads))
                if (conflict := self._first(races, readers, self.rop, cells, threads)) is not None:
                    return conflict
        return None

    def _first(
        self, races: Lanes, others: Lanes, ops: Lanes, cells: Lanes, threads: Lanes
    ) -> Conflict | None:
        if not races.any():
            return None
        position = int(np.argmax(races))
        cell = cells[position]
        return Conflict(int(others[cell]), int(threads[position]), position, self._ops[int(ops[cell])])

    def _block(self, threads: Lanes) -> Lanes:
        return threads // self._threads
