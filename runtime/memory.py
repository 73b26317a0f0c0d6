"""Memory of calls: aligned arrays, large outputs, and slots (buffers whose size depends on data)."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Mapping
from contextlib import suppress
from math import prod

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.addresses import address_of
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array
from stepwell.runtime.timing import KernelTimes


def aligned_empty(size_bytes: int) -> npt.NDArray[np.uint8]:
    """An uninitialised byte array that starts on a cache line."""
    raw = np.empty(size_bytes + ARENA_ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ARENA_ALIGNMENT
    return raw[start : start + size_bytes]


def aligned(array: Array) -> Array:
    """The array itself when it is contiguous and starts on a cache line, else a copy that does."""
    if array.flags.c_contiguous and array.ctypes.data % ARENA_ALIGNMENT == 0:
        return array
    copy = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


_LARGE_PAGE = 2 << 20  # of x86-64 and, with pages of 4 KiB, of AArch64


def large_pages(size_bytes: int) -> npt.NDArray[np.uint8]:
    """
    Bytes that are zero and start on a cache line, in pages of 2 MiB where the system has them.

    Hardware prefetches no further than to the end of a page: a product of one row reads its weights from
    memory at 13 to 20 GB/s in pages of 4 KiB, at 28 to 31 GB/s in these.
    Raises: MemoryError.
    Source: madvise(2) of Linux, MADV_HUGEPAGE.
    """
    if size_bytes < _LARGE_PAGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        memory = aligned_empty(size_bytes)
        memory[:] = 0
        return memory
    try:
        pages = mmap.mmap(-1, size_bytes + _LARGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {size_bytes} bytes: {error}") from None
    with suppress(OSError):  # a system without large pages
        pages.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(pages, np.uint8)
    start = -address_of(whole) % _LARGE_PAGE
    return whole[start : start + size_bytes]


def return_free_memory() -> None:
    """Return free memory of the C library to the system: glibc keeps what LLVM has freed, 5 MB and more."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


# Stores that fill whole cache lines gain 5 to 10 % from here; below, a microsecond for it is too much.
ALIGNED_BYTES = 1 << 19
# From this size on, memory that was freed may be allocated again as new pages, full of zeros: from 32 MiB
# always, which is four times the time of the kernel itself (relu of 32 MiB: 9.7 ms instead of 2.6).
_KEPT_BYTES = 4 << 20
# Loads wait for stores before them whose address is the same in a page: large arrays of numpy's begin a page,
# and so do their copies (tanh of 16 MiB, results 48 bytes further on in the page: 1.5 to 2.2 ms, else 1.2).
_PAGE_BYTES = 4096


class LargeOutputs:
    """
    The memory of outputs, reused by consecutive calls.

    Small ones are allocated by numpy; larger ones start on a cache line, half a page after others; the memory
    of the largest is used again by the next call once neither the array nor a view of it is referenced.
    """

    def __init__(self) -> None:
        self._kept: dict[int, npt.NDArray[np.uint8]] = {}

    def new(self, place: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """An uninitialised array for the output with the number `place`."""
        size_bytes = prod(shape) * dtype.itemsize
        if size_bytes < ALIGNED_BYTES:
            return np.empty(shape, dtype)
        is_free = place in self._kept and _uses(self._kept, place) <= _UNUSED
        raw = self._kept[place] if is_free else None
        if raw is None or raw.nbytes != size_bytes + _PAGE_BYTES:
            raw = np.empty(size_bytes + _PAGE_BYTES, np.uint8)
            if size_bytes >= _KEPT_BYTES:
                self._kept[place] = raw
        return np.ndarray(shape, dtype, raw, (_PAGE_BYTES // 2 - address_of(raw)) % _PAGE_BYTES)


def _uses(kept: Mapping[int, Array], place: int) -> int:
    """The reference count of an output's memory: 1 for the table, and 1 for each array in the memory."""
    return sys.getrefcount(kept[place])


_UNUSED = _uses({0: np.empty(0)}, 0)


class Memory:
    """
    The slots of one running call, which compiled code allocates through `address`, the context's ALLOCATE.

    A slot grows and is never freed, so that loops and later calls use the same memory again; only the memory
    of outputs is handed to the caller.
    """

    def __init__(self, times: KernelTimes | None = None) -> None:
        """Args: `times` sums the time of the allocations."""
        self.refused = 0
        """Bytes of the last request that could not be met."""
        self._slots: dict[int, npt.NDArray[np.uint8]] = {}
        self._callback = _ALLOCATE_TYPE(self._allocate if times is None else times.timed(self._allocate))
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def take(self, slot: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """The memory of a slot as an array, which owns it from now on."""
        memory = self._slots.pop(slot)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return memory[:size].view(dtype).reshape(shape)

    def slot(self, number: int) -> Array | None:
        """The bytes of a slot as its last use left them; None for a slot that no call has used."""
        return self._slots.get(number)

    def _allocate(self, context: int, slot: int, size_bytes: int) -> int:
        found = self._slots.get(slot)
        if found is None or found.nbytes < size_bytes:
            self._slots.pop(slot, None)
            try:
                if not 0 <= size_bytes <= MAX_TENSOR_BYTES:
                    raise MemoryError
                found = self._slots[slot] = aligned_empty(size_bytes)
            except MemoryError:
                self.refused = size_bytes
                return 0
        return int(found.ctypes.data)


_ALLOCATE_TYPE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
