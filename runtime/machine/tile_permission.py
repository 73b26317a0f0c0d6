"""Tile registers (Intel AMX) and the operating system: a process must ask before it touches them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from stepwell.runtime.machine.tile_check import TileFunctions

_SYS_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18

COMPILER = "stepwell.lowering.kernels.tile_code"
"""The module of the compiler whose `tile_functions` makes the functions; absent from a runtime by itself."""


_verdicts: list[str | None] = []
"""The answer of this process, once there is one."""


def tile_refusal(functions: TileFunctions | None = None) -> str | None:
    """
    The reason why this process does not use the tile registers of its processor; None when it does.

    Asks Linux for them, has them multiply once, and compares their speed with that of vectors. The answer
    holds for all threads of the process, those that run already too, and for its children until they run
    another program. Linux refuses when a thread's stack for signals has no room for the registers. Systems
    that are not known to save the registers count as refusing.

    Args: `functions` are those of an artifact; without them the compiler makes some, where it is installed.
    Source: Linux, Documentation/arch/x86/xstate.rst.
    """
    if not _verdicts:
        refusal = _system_refusal()
        if refusal is None:
            if (functions := functions or _compiled_functions()) is None:
                return "there is no code to try them with"
            refusal = _trial_refusal(functions)
        _verdicts.append(refusal)
    return _verdicts[0]


def _system_refusal() -> str | None:
    """The reason why the system does not let this process use tile registers; None when it does."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "this system is not known to save them"
    syscall = ctypes.CDLL(None).syscall
    syscall.restype = ctypes.c_long
    arguments = (_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA)
    return "the system does not permit them" if syscall(*map(ctypes.c_long, arguments)) != 0 else None


def _trial_refusal(functions: TileFunctions) -> str | None:
    """The reason why tile registers are of no use; None when they are right and fast."""
    from stepwell.runtime.machine import tile_check

    if not tile_check.tiles_multiply(functions):
        return "their sums are wrong"
    return None if tile_check.tiles_are_faster(functions) else "vectors are faster"


def _compiled_functions() -> TileFunctions | None:
    """The functions as the compiler makes them; None where it is not installed."""
    try:
        make = cast("Callable[[], TileFunctions]", import_module(COMPILER).tile_functions)
        return make()
    except ImportError:
        return None
