"""Random numbers: bits of a key and a position, and keys that differ from call to call."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.philox import random_bits as philox_bits


@meaning("graph.random_bits")
def random_bits(key: Array, *, count: Sequence[int]) -> Array:
    """64 random bits for each position, by a seed and a stream."""
    seed, stream = (int(number) for number in key)
    return philox_bits(seed, stream, count[0])


@meaning("host.draw_key")
def draw_key() -> Array:
    """A key that no other call has: a seed and a stream, from the system's source of random bits."""
    return np.frombuffer(secrets.token_bytes(16), np.int64)
