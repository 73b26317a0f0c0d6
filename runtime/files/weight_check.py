"""
The check of an artifact's weights against their checksums, on threads, while the caller of `load` goes on.

At the speed of memory 200 MB take 15 ms, more than all else of loading, and the first call reads those pages
anyway. So the loader starts the check, and the first call waits for it: nothing is computed from damaged
weights.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import StepwellError

Array = npt.NDArray[np.generic]

_BLOCK_BYTES = 4096
_MASK = (1 << 64) - 1
_AT_ONCE_BYTES = 1 << 21  # up to here a thread costs more than it saves
_BYTES_A_THREAD = 1 << 28
_MOST_THREADS = 4  # of one memory


def checksum(array: Array) -> int:
    """
    The sum of the array's 8-byte words, weighted by the number of their 4 KiB block, modulo 2^64.

    It runs at the speed of memory (200 MB: 15 ms; SHA-256 takes 115) and finds any damage to a
    single word, and pages that are exchanged, repeated or empty.
    """
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    blocks = data.size // _BLOCK_BYTES
    rest = data[blocks * _BLOCK_BYTES :]
    words = rest.size // 8 * 8
    total = data.size + int(np.add.reduce(rest[:words].view(np.uint64)))
    total += int.from_bytes(rest[words:].tobytes(), "little")
    if blocks:
        whole = data[: blocks * _BLOCK_BYTES].view(np.uint64).reshape(blocks, -1)
        weights = np.arange(3, 2 * blocks + 3, 2, dtype=np.uint64)  # odd: a factor loses no bit
        total += int(np.add.reduce(np.add.reduce(whole, axis=1) * weights))
    return total & _MASK


class WeightCheck:
    """A check that runs; `wait` for it before the first use of the weights."""

    def __init__(self, arrays: Sequence[Array], sums: Sequence[int], place: str):
        """
        Start to check arrays against their checksums; `place` is the file in errors.

        Raises: StepwellError `bad-artifact` for damage in arrays that are small enough to be checked at once.
        """
        self._arrays, self._sums, self._place = arrays, sums, place
        self._damaged: list[int] = []
        self._process = os.getpid()
        self._threads: list[threading.Thread] = []
        total = sum(array.nbytes for array in arrays)
        if total <= _AT_ONCE_BYTES:
            self._check(range(len(arrays)))
            self.wait()
            return
        threads = min(_MOST_THREADS, usable_cores(), 1 + total // _BYTES_A_THREAD)
        for share in _shares([array.nbytes for array in arrays], threads):
            thread = threading.Thread(target=self._check, args=(share,), name="stepwell-weights")
            thread.start()
            self._threads.append(thread)

    def wait(self) -> None:
        """Wait for the end of the check. Raises: StepwellError `bad-artifact` for damaged weights."""
        if self._threads:
            if os.getpid() == self._process:
                for thread in self._threads:
                    thread.join()
            else:  # the child of a fork has none of the threads
                self._damaged = []
                self._check(range(len(self._arrays)))
            self._threads = []
        if self._damaged:
            raise StepwellError(
                "bad-artifact",
                self._place,
                f"the checksum of weight {min(self._damaged)} is wrong: the file is damaged",
                help="compile the model again",
            )

    def _check(self, share: Sequence[int]) -> None:
        for index in share:
            if checksum(self._arrays[index]) != self._sums[index]:
                self._damaged.append(index)


def _shares(sizes: Sequence[int], count: int) -> list[list[int]]:
    """The indices of sizes in shares of about equal sums, largest first."""
    shares: list[list[int]] = [[] for _ in range(count)]
    sums = [0] * count
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        least = sums.index(min(sums))
        shares[least].append(index)
        sums[least] += sizes[index]
    return [share for share in shares if share]
