"""The interpreter: levels 1, 2 and 3 on numpy, the reference for every pass and conversion."""

from importlib import import_module
from typing import TYPE_CHECKING

from stepwell.lowering.interpret.elements import numpy_dtype
from stepwell.lowering.interpret.engine import STEP_WATCHER
from stepwell.lowering.interpret.machine import CHECKS, Program, call_value, interpret
from stepwell.lowering.interpret.signature import Signature

if TYPE_CHECKING:
    from stepwell.lowering.interpret.demand import interpret_sampled
    from stepwell.lowering.interpret.noise import Noise
    from stepwell.lowering.interpret.sampling import Sampling, TooManyOps, written

__all__ = [
    "CHECKS",
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
    "written",
]

_LATE = {"Noise": "noise", "interpret_sampled": "demand"} | dict.fromkeys(
    ("Sampling", "TooManyOps", "written"), "sampling"
)


def __getattr__(name: str) -> object:
    """Noise and sampling, imported when they are first used: answers from level 1 need neither."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
