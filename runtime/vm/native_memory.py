"""The memory of a call of native functions: chunks for objects, and the bytes of stack for its frames."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepwell.runtime.addresses import address_of
from stepwell.runtime.memory import aligned_empty
from stepwell.runtime.vm.native_abi import STACK_NOW, Field

Words = npt.NDArray[np.uint64]
_FIRST_CHUNK_BYTES, _LARGEST_CHUNK_BYTES = 1 << 16, 1 << 24
# What stays for the next call.
_KEPT_BYTES = 1 << 20
# With a limit, a chunk is at most this part of what is left: the rest is for frames.
_LIMITED_PART = 8
_LINE = 64
INTERRUPTED = 2**64 - 1
"""The limit of the stack that ends a call at its next check."""


class CallMemory:
    """
    The chunks of one call at a time, and the limit of its stack.

    Args: `words` are the context; `most` is the most bytes of both, None for no limit.
    """

    def __init__(self, words: Words, most: int | None):
        self._words, self._most = words, most
        part = _FIRST_CHUNK_BYTES if most is None else max(_LINE, most // _LIMITED_PART)
        self._first_bytes = min(part, _FIRST_CHUNK_BYTES)
        self._chunks: list[npt.NDArray[np.uint8]] = [aligned_empty(self._first_bytes)]
        self._bytes = self._first_bytes
        self._stack_bytes = 0
        self._use(self._chunks[0])

    def begin(self, stack_bytes: int) -> None:
        """Leave one chunk. Args: `stack_bytes` is the size of the stack, 0 without a check."""
        self._shrink()
        self._stack_bytes = stack_bytes
        self._words[Field.STACK_BYTES] = self._allowed()

    def end(self) -> None:
        """Give back the memory that only a large call needs."""
        if self._bytes > _KEPT_BYTES:
            self._shrink()

    def more(self, size_bytes: int) -> bool:
        """Add a chunk that so many bytes fit in; whether there is memory for it."""
        least = size_bytes + _LINE
        size = max(least, min(self._bytes, _LARGEST_CHUNK_BYTES))
        if self._most is not None:
            if (left := self._most - self._bytes - self._frame_bytes()) < least:
                return False
            size = max(least, min(size, left // _LIMITED_PART))
        try:
            chunk = aligned_empty(size)
        except (MemoryError, ValueError):
            return False
        self._chunks.append(chunk)
        self._bytes += size
        self._use(chunk)
        self._limit_stack()
        return True

    @property
    def is_stack_limited(self) -> bool:
        """Whether the limit of memory leaves less of the stack than there is."""
        return self._allowed() < self._stack_bytes

    def _allowed(self) -> int:
        """The bytes that frames may use. Not 0, which is a stack without a check."""
        if self._most is None or not self._stack_bytes:
            return self._stack_bytes
        return max(1, min(self._stack_bytes, self._most - self._bytes))

    def _begin_of_stack(self) -> int:
        """The address that frames grow down from; 0 without a check, or after an interrupt."""
        limit = int(self._words[Field.STACK_LIMIT])
        return 0 if limit in (0, INTERRUPTED) else limit + int(self._words[Field.STACK_BYTES])

    def _frame_bytes(self) -> int:
        """The bytes of stack in use."""
        return max(0, self._begin_of_stack() - int(self._words[STACK_NOW]))

    def _limit_stack(self) -> None:
        if begin := self._begin_of_stack():
            self._words[Field.STACK_BYTES] = allowed = self._allowed()
            self._words[Field.STACK_LIMIT] = begin - allowed

    def _shrink(self) -> None:
        del self._chunks[1:]
        self._bytes = self._first_bytes

    def _use(self, chunk: npt.NDArray[np.uint8]) -> None:
        start = address_of(chunk)
        self._words[Field.BUMP], self._words[Field.BUMP_END] = start, start + chunk.nbytes
