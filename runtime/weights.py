"""
The weight store: the bytes of every constant, kept beside the IR and found by content hash.

The IR holds `#graph.weight<"name", "hash", type>` only (100 MB as text cost 7 s and 2 GB), so modules stay
small, equal weights are stored once, and weights of a model file stay memory-mapped until a kernel reads
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

HASH_CHARS = 32  # of a BLAKE2b digest: 128 bits, collisions are out of reach


def content_hash(array: npt.NDArray[np.generic]) -> str:
    """The hash under which an array's bytes are stored: of dtype, shape and contents."""
    digest = hashlib.blake2b(digest_size=HASH_CHARS // 2)
    digest.update(f"{array.dtype.str if array.dtype.kind != 'V' else array.dtype.name}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


class WeightStore:
    """Arrays by content hash. An array may be a view of a mapped file; it is read only from then on."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.generic]] = {}

    def add(self, array: npt.NDArray[np.generic]) -> str:
        """Keep an array (any numpy or ml_dtypes element type, any shape) and return its hash."""
        key = content_hash(array)
        if key not in self._arrays:
            kept = np.ascontiguousarray(array).reshape(array.shape).view()
            kept.flags.writeable = False
            self._arrays[key] = kept
        return key

    def get(self, key: str) -> npt.NDArray[np.generic]:
        """The read-only array stored under a hash. Raises: KeyError when the store does not hold it."""
        return self._arrays[key]

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)
