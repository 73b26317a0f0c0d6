"""Switches for the worker processes that compile kernels: tests have a process on each core already."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.costs.table import overridden

_SWITCHES = ExitStack()
"""Values that are overridden up to the end of the process: a context manager that is freed ends its block."""


def compile_kernels_here() -> None:
    """Compile all kernels in this process from now on: another one takes 0.7 s to start."""
    _SWITCHES.enter_context(
        overridden(COMPILER, **dict.fromkeys(("worker_pays", "nodes_a_worker", "early_cores"), sys.maxsize))
    )
