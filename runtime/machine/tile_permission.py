"""Tile registers (Intel AMX) and the operating system: a process must ask before it touches them."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

_SYS_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18


def may_use_tiles() -> bool:
    """Whether this process may use tile registers, and gains by it."""
    return tile_refusal() is None


@cache
def tile_refusal() -> str | None:
    """
    The reason why this process does not use the tile registers of its processor; None when it does.

    Asks Linux for them, has them multiply once, and compares their speed with that of vectors. The answer
    holds for all threads of the process, those that run already too, and for its children until they run
    another program. Linux refuses when a thread's stack for signals has no room for the registers. Systems
    that are not known to save the registers count as refusing.
    Source: Linux, Documentation/arch/x86/xstate.rst.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "this system is not known to save them"
    syscall = ctypes.CDLL(None).syscall
    syscall.restype = ctypes.c_long
    arguments = (_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA)
    if syscall(*map(ctypes.c_long, arguments)) != 0:
        return "the system does not permit them"
    from stepwell.runtime.machine import tile_check

    if not tile_check.tiles_multiply():
        return "their sums are wrong"
    return None if tile_check.tiles_are_faster() else "vectors are faster"
