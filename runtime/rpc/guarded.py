"""Arrays between inaccessible pages, so that a stray access of compiled code ends its process."""

from __future__ import annotations

import ctypes
import mmap
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.addresses import address_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

_PAGE = mmap.PAGESIZE
_PATTERN = 0xA5
"""The value of bytes that compiled code has not written."""
_PATTERN_BYTE = bytes([_PATTERN])
_NO_ACCESS = 0


class _Held(NamedTuple):
    """The memory of an array, with the bytes up to the page after it."""

    whole: npt.NDArray[np.uint8]
    pad: npt.NDArray[np.uint8]
    array: Array


class GuardedMemory:
    """
    The memory of calls on arrays of fixed shapes: each array is between two inaccessible pages.

    An array starts on a cache line and ends at a page, with up to 63 bytes between. Their pattern is compared
    by `check`. The pages of a name are made once (a call of a small model takes 0.03 ms instead of 0.4).
    """

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def new(self, shape: tuple[int, ...], dtype: np.dtype[np.generic], name: str) -> Array:
        """
        The array of a name, filled with NaN, or with a bit pattern if its type has no NaN.

        Args: `name` is used in errors; arrays of equal name, shape and type have the same memory.
        Raises: MemoryError, OSError where the system gives no memory.
        """
        held = self._held.get(name)
        if held is None or held.array.shape != shape or held.array.dtype != dtype:
            held = self._held[name] = _guarded(shape, dtype)
        held.whole.fill(_PATTERN)
        if dtype.kind in "fc":
            held.array.fill(np.nan)
        return held.array

    def spoil(self, name: str) -> None:
        """Fill the array of a name, if there is one, with the pattern again."""
        if (held := self._held.get(name)) is not None:
            held.whole.fill(_PATTERN)

    def copy(self, array: Array, name: str) -> Array:
        """A copy of an array."""
        copy = self.new(array.shape, array.dtype, name)
        copy[...] = array
        return copy

    def check(self) -> None:
        """Require that nothing wrote after the end of an array. Raises: StepwellError `stray-write`."""
        for name, held in self._held.items():
            if held.pad.tobytes() != _PATTERN_BYTE * held.pad.size:
                raise StepwellError("stray-write", None, f"compiled code wrote after the end of {name}")


def _guarded(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> _Held:
    """New memory for an array, between inaccessible pages. Raises: MemoryError, OSError."""
    size_bytes = prod(shape) * dtype.itemsize
    padded = -(-size_bytes // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
    pages = -(-padded // _PAGE) * _PAGE
    region = np.frombuffer(mmap.mmap(-1, pages + 2 * _PAGE), np.uint8)
    begin = address_of(region)
    for page in (begin, begin + _PAGE + pages):
        _forbid(page)
    start = _PAGE + pages - padded
    whole = region[start : start + padded]
    return _Held(whole, whole[size_bytes:], np.ndarray(shape, dtype, whole))


def _forbid(address: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(ctypes.c_void_p(address), ctypes.c_size_t(_PAGE), _NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), "mprotect refused a page")
