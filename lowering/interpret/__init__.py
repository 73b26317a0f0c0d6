"""The interpreter: levels 1, 2 and 3 on numpy, the reference for every pass and conversion."""

from stepwell.lowering.interpret.engine import STEP_WATCHER
from stepwell.lowering.interpret.machine import Program, interpret

__all__ = ["STEP_WATCHER", "Program", "interpret"]
