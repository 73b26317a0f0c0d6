"""
The weight file of IR: a header with the type and offset of each array, then the bytes, mapped when read.

```
8 bytes  b"stepwgt1"
8 bytes  length of the header, little endian
header   JSON: {"<hash>": {"dtype": "float32", "shape": [64, 3], "begin": 128}, ...}
data     from the next multiple of 64 on: each array at its `begin`, a multiple of 64 too
```
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.interface import NARROW_TYPES, dtype_from_name

Array: TypeAlias = npt.NDArray[np.generic]

MAGIC = b"stepwgt1"
ALIGNMENT = 64
MAX_HEADER_BYTES = 1 << 28
MAX_RANK = 64  # numpy's own bound

ELEMENT_TYPES = NARROW_TYPES | frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128".split()
)
"""The names of element types that a header may contain."""


def write_weights(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write arrays by their hash: a whole file or none. Raises: StepwellError `cannot-write`."""
    entries: dict[str, dict[str, object]] = {}
    begin = 0
    for key, array in arrays.items():
        entries[key] = {"dtype": array.dtype.name, "shape": array.shape, "begin": begin}
        begin = _aligned(begin + array.nbytes)
    header = json.dumps(entries).encode()
    with whole_file(path) as file:
        file.write(_padded(MAGIC + len(header).to_bytes(8, "little") + header))
        for array in arrays.values():
            stored = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            file.write(stored)
            file.write(bytes(_aligned(len(stored)) - len(stored)))


def read_weights(path: str | os.PathLike[str]) -> dict[str, Array]:
    """
    The arrays of a file by their hash, read-only and mapped.

    Raises: StepwellError `no-file`, or `invalid-weights` for a file with impossible claims.
    """
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
    except OSError as error:
        raise unreadable(Path(path), "weights", error) from None
    try:
        header, start = _header(data)
        return {key: _array(data[start:], entry) for key, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StepwellError(
            "invalid-weights", name, f"the file contains no weights, or is damaged: {error}"
        ) from None


def _header(data: memoryview) -> tuple[Mapping[str, Mapping[str, object]], int]:
    """The header, and the offset of the data."""
    start = len(MAGIC) + 8
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise ValueError("it does not begin as one")
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    if length > min(MAX_HEADER_BYTES, len(data) - start):
        raise ValueError(f"a header of {length} bytes does not fit")
    return json.loads(bytes(data[start : start + length])), _aligned(start + length)


def _array(data: memoryview, entry: Mapping[str, object]) -> Array:
    name, shape, begin = entry["dtype"], entry["shape"], entry["begin"]
    if name not in ELEMENT_TYPES:
        raise ValueError(f"unknown element type {name!r}")
    dtype = dtype_from_name(cast(str, name))
    if not isinstance(shape, list) or len(extents := cast("list[object]", shape)) > MAX_RANK:
        raise ValueError("a shape must be a list of numbers")
    numbers = [n for n in (*extents, begin) if isinstance(n, int) and n >= 0]
    if len(numbers) != len(extents) + 1:
        raise ValueError("sizes and offsets must be numbers from 0 on")
    *dims, start = numbers
    elems = prod(dims)
    if start % ALIGNMENT or start + elems * dtype.itemsize > len(data):
        raise ValueError(f"{elems} elements of {dtype} at byte {start} are outside of the file")
    return np.frombuffer(data, dtype, elems, start).reshape(dims)


def _padded(head: bytes) -> bytes:
    return head.ljust(_aligned(len(head)), b"\0")


def _aligned(at: int) -> int:
    return -(-at // ALIGNMENT) * ALIGNMENT
