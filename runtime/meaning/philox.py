"""
Constants of the counter-based random generator Philox4x32-10, and its blocks in numpy.

Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

ROUNDS = 10
PART_BITS = 32
PART_MASK = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""The numbers that are added to the two halves of the key after each round."""

Parts: TypeAlias = npt.NDArray[np.uint64]
"""Numbers of 32 bits, each in 64."""

_BLOCKS_AT_ONCE = 16384
"""As many counters as stay in the cache: 79 ms for a million numbers, 134 when they are made at once."""


def random_bits(seed: int, stream: int, count: int) -> Parts:
    """64 bits for each counter from 0 to `count`: the first half of its block."""
    result = np.empty(count, np.uint64)
    for start in range(0, count, _BLOCKS_AT_ONCE):
        counters = np.arange(start, min(start + _BLOCKS_AT_ONCE, count), dtype=np.uint64)
        low, high, *_ = blocks(counters, stream, seed)
        result[start : start + low.size] = low | high << np.uint64(PART_BITS)
    return result


def blocks(counters: Parts, stream: int, seed: int) -> tuple[Parts, Parts, Parts, Parts]:
    """The quarters of the block of each counter of 128 bits; `counters` are the lower halves."""
    mask, shift = np.uint64(PART_MASK), np.uint64(PART_BITS)
    quarters = (counters & mask, counters >> shift, *(np.uint64(half) for half in _halves(stream)))
    key = _halves(seed)
    for _ in range(ROUNDS):
        first, second = (quarters[2 * i] * np.uint64(MULTIPLIERS[i]) for i in range(2))
        quarters = (
            (second >> shift) ^ quarters[1] ^ np.uint64(key[0]),
            second & mask,
            (first >> shift) ^ quarters[3] ^ np.uint64(key[1]),
            first & mask,
        )
        key = [(half + step) & PART_MASK for half, step in zip(key, KEY_STEPS, strict=True)]
    a, b, c, d = (np.broadcast_to(quarter, counters.shape) for quarter in quarters)
    return a, b, c, d


def _halves(number: int) -> list[int]:
    """The lower and the upper half of a number of 64 bits, a negative one in two's complement."""
    return [number & PART_MASK, number >> PART_BITS & PART_MASK]
