"""
Memory for linked code: written first, then read-only with executable functions; never both at once.

Source: mmap(2) and mprotect(2) of POSIX.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any
from weakref import finalize

from stepwell.runtime.environment import PERF
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.outside import address_outside

_FAILED = ctypes.c_void_p(-1).value
_READ, _WRITE, _EXECUTE = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC


class MappedCode:
    """Linked code in the memory of this process, as long as the object lives."""

    def __init__(self, code: LinkedCode, names: Mapping[str, str] | None = None):
        """
        Args: `names` are better names for some functions, for profilers.
        Raises: StepwellError `bad-artifact` when the code calls what it may not, `cannot-access` when the
        system permits no new executable memory.
        """
        addresses = [_address(name) for name in code.outside]
        self._functions = code.functions
        size, start = max(1, code.memory_bytes), code.data_offset
        self._base = _allocate(size)
        known = list[Callable[[], object]]()
        self._release = finalize(self, _unmap, self._base, size, known)
        self._release.atexit = False  # threads may run in it until the process ends
        ctypes.memmove(self._base, code.contents[: code.text_bytes], code.text_bytes)
        ctypes.memmove(
            self._base + start, code.contents[code.text_bytes :], len(code.contents) - code.text_bytes
        )
        table = (ctypes.c_uint64 * len(addresses)).from_address(self._base + code.table_offset)
        table[:] = addresses
        _protect(self._base, start, _READ | _EXECUTE)
        _protect(self._base + start, size - start, _READ)
        if PERF.is_set():
            from stepwell.runtime.link.perf import announce

            if (forget := announce(code, self._base, names or {})) is not None:
                known.append(forget)

    def address(self, function: str) -> int:
        """The address of a function. Raises: KeyError when the code has none of this name."""
        return self._base + self._functions[function][0]

    def keep(self) -> None:
        """Leave the memory mapped until the process ends: threads that nothing stops may still run in it."""
        self._release.detach()


def _address(name: str) -> int:
    try:
        return address_outside(name)
    except (ValueError, OSError) as error:
        raise StepwellError("bad-artifact", None, f"the code cannot be loaded: {error}") from None


def _allocate(size: int) -> int:
    """Fresh memory to write code into."""
    base = _system().mmap(None, size, _READ | _WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base is None or base == _FAILED:
        message = f"no memory for {size} bytes of code: {os.strerror(ctypes.get_errno())}"
        raise StepwellError("out-of-memory", None, message)
    return int(base)


def _unmap(base: int, size: int, known: Sequence[Callable[[], object]]) -> None:
    """Give memory back, after the functions `known` have removed what refers to the code in it."""
    for forget in known:
        forget()
    _system().munmap(base, size)


def _protect(start: int, size: int, protection: int) -> None:
    """
    Change the protection of whole pages.

    On aarch64, Linux makes the caches of instructions and data agree when a page becomes executable.
    """
    if size and _system().mprotect(start, size, protection) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise StepwellError(
            "cannot-access",
            None,
            f"the system permits this process no new executable memory: {reason}",
            help="see the security settings of the system (SELinux: execmem)",
        )


@cache
def _system() -> Any:
    """The C library, with the types of what is called here."""
    library = ctypes.CDLL(None, use_errno=True)
    word, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    library.mmap.argtypes = [pointer, word, number, number, number, ctypes.c_int64]
    library.mmap.restype = pointer
    library.mprotect.argtypes, library.munmap.argtypes = [pointer, word, number], [pointer, word]
    return library
