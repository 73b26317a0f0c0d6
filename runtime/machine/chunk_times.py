"""The begin and end of each chunk of parallel loops, which a pool that records writes into rings."""

from __future__ import annotations

import ctypes
from typing import NamedTuple, cast

import numpy as np

from stepwell.runtime.machine.pool_state import RECORD_BYTES, RING_RECORDS, RecordField, RingField


class ChunkTime(NamedTuple):
    """A chunk that a thread computed: address of the loop's body, number, begin and end in nanoseconds."""

    body: int
    chunk: int
    begin: int
    end: int


class Ring:
    """The memory of a thread for its last `RING_RECORDS` chunks, which is used page by page."""

    def __init__(self, state_address: int):
        self._memory = np.zeros(RingField.RECORDS + RING_RECORDS * RECORD_BYTES, np.uint8)
        self.address = int(self._memory.ctypes.data)
        clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value
        for field, value in ((RingField.STATE, state_address), (RingField.CLOCK, cast(int, clock))):
            self._memory[field : field + 8].view(np.uint64)[0] = value

    @property
    def _count(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return self._memory[RingField.COUNT : RingField.COUNT + 8].view(np.int64)

    def take(self) -> list[ChunkTime]:
        """The chunks since the last call, the oldest first; forgets them. No loop may run meanwhile."""
        count, self._count[0] = int(self._count[0]), 0
        used = self._memory[RingField.RECORDS :].view(np.int64).reshape(RING_RECORDS, -1)
        rows = np.roll(used, -(count % RING_RECORDS), axis=0) if count > RING_RECORDS else used[:count]
        seconds = [field // 8 for field in (RecordField.BEGIN, RecordField.END)]
        begin, end = (rows[:, word] * 10**9 + rows[:, word + 1] for word in seconds)
        columns = rows[:, RecordField.BODY // 8], rows[:, RecordField.CHUNK // 8], begin, end
        return [ChunkTime(*map(int, row)) for row in zip(*columns, strict=True)]
