"""Arrays between inaccessible pages, so that a stray access of compiled code ends its process."""

from __future__ import annotations

import ctypes
import mmap
from math import prod

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.addresses import address_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

_PAGE = mmap.PAGESIZE
_PATTERN = 0xA5
"""The value of bytes that compiled code has not written."""
_NO_ACCESS = 0


class GuardedMemory:
    """
    The memory of a call: each array is between two inaccessible pages, and ends at one.

    An array starts on a cache line, so up to 63 bytes are between its end and the page. Their pattern is
    compared by `check`.
    """

    def __init__(self) -> None:
        self._pads: list[tuple[str, npt.NDArray[np.uint8]]] = []

    def new(self, shape: tuple[int, ...], dtype: np.dtype[np.generic], name: str) -> Array:
        """
        An array full of NaN, or of a pattern where it has no floats. Args: `name` is that of an error.

        Raises: MemoryError, OSError where the system gives no memory.
        """
        size_bytes = prod(shape) * dtype.itemsize
        padded = -(-size_bytes // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
        pages = -(-padded // _PAGE) * _PAGE
        region = np.frombuffer(mmap.mmap(-1, pages + 2 * _PAGE), np.uint8)
        begin = address_of(region)
        for page in (begin, begin + _PAGE + pages):
            _forbid(page)
        start = _PAGE + pages - padded
        held = region[start : start + padded]
        held[:] = _PATTERN
        self._pads.append((name, held[size_bytes:]))
        array = np.ndarray(shape, dtype, held)
        if dtype.kind in "fc":
            array[...] = np.nan
        return array

    def copy(self, array: Array, name: str) -> Array:
        """A copy of an array."""
        copy = self.new(array.shape, array.dtype, name)
        copy[...] = array
        return copy

    def check(self) -> None:
        """Require that nothing wrote after the end of an array. Raises: StepwellError `stray-write`."""
        for name, pad in self._pads:
            if (pad != _PATTERN).any():
                raise StepwellError("stray-write", None, f"compiled code wrote after the end of {name}")


def _forbid(address: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(ctypes.c_void_p(address), ctypes.c_size_t(_PAGE), _NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), "mprotect refused a page")
