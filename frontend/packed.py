"""Elements of fewer than 8 bits, which a file has several of in a byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from stepwell.runtime.interface import Array, dtype_from_name

_BITS: Mapping[str, int] = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4}


def packed_elements(
    data: memoryview, name: str, shape: Sequence[int], title: str, invalid: Callable[[str], Exception]
) -> Array:
    """
    The elements, one a byte; the first of a byte are its low bits.

    Raises: what `invalid` makes, for another number of bytes.
    """
    bits = _BITS[name]
    each, count = 8 // bits, prod(shape)
    if len(data) != -(-count // each):
        raise invalid(f"{title!r} has {len(data)} bytes, and {list(shape)} elements of {bits} bits")
    codes = np.frombuffer(data, np.uint8)
    parts = np.stack([(codes >> (bits * i)) & ((1 << bits) - 1) for i in range(each)], axis=-1)
    values = parts.reshape(-1)[:count].astype(np.int8)
    if not name.startswith("u"):
        values = np.where(values >= 1 << (bits - 1), values - (1 << bits), values).astype(np.int8)
    return values.reshape(shape).astype(dtype_from_name(name))
