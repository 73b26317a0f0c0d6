"""The interpreter: levels 1, 2 and 3 on numpy, the reference for every pass and conversion."""

from importlib import import_module
from typing import TYPE_CHECKING

from stepwell.lowering.interpret.elements import numpy_dtype
from stepwell.lowering.interpret.engine import STEP_WATCHER
from stepwell.lowering.interpret.machine import CHECKS, Launcher, Program, call_value, interpret
from stepwell.lowering.interpret.signature import Signature

if TYPE_CHECKING:
    from stepwell.lowering.interpret.demand import interpret_sampled
    from stepwell.lowering.interpret.noise import Noise
    from stepwell.lowering.interpret.ptx import PtxProgram, ptx_launcher
    from stepwell.lowering.interpret.sampling import Sampling, TooManyOps, written

__all__ = [
    "CHECKS",
    "Launcher",
    "PtxProgram",
    "STEP_WATCHER",
    "Noise",
    "Program",
    "Sampling",
    "Signature",
    "TooManyOps",
    "call_value",
    "interpret",
    "interpret_sampled",
    "numpy_dtype",
    "ptx_launcher",
    "written",
]

_LATE = {
    "Noise": "noise",
    "PtxProgram": "ptx",
    "interpret_sampled": "demand",
    "ptx_launcher": "ptx",
} | dict.fromkeys(("Sampling", "TooManyOps", "written"), "sampling")


def __getattr__(name: str) -> object:
    """Noise, sampling and PTX, imported when they are first used: answers from level 1 need none of them."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
