"""Memory that was freed goes back to the system."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from stepwell.runtime.memory import return_free_memory


def resident_bytes() -> int:
    """The memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="of glibc"
)
def test_blocks_freed_below_a_used_one_are_returned() -> None:
    libc, size = ctypes.CDLL(None), 100_000  # smaller than blocks that are mapped by themselves
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(ctypes.c_size_t(size)) for _ in range(400)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    *freed, last = blocks
    for block in freed:
        libc.free(block)
    before = resident_bytes()
    return_free_memory()
    assert resident_bytes() < before - 20_000_000
    libc.free(last)
