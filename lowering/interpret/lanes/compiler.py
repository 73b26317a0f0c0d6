"""The compiler of kernels' bodies, with handlers of the ops that differ between lanes and single values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from stepwell.lowering.interpret.engine import Compiler, Handler

_HANDLERS: dict[str, Handler] = {}
_AS_FOR_VALUES = ("arith", "math")
"""Dialects whose ops are elementwise, on arrays too."""


def for_lanes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function from an op of kernels and the compiler to a step on the frame and operands."""

    def register(prepare: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _HANDLERS[name] = Handler(prepare, has_regions=True)
        return prepare

    return register


class LaneCompiler(Compiler):
    """Prepares the blocks of one kernel."""

    def handler_of(self, op: Operation) -> Handler | None:
        """The handler for lanes; None for ops that no kernel has."""
        if (found := _HANDLERS.get(op.name)) is not None:
            return found
        return super().handler_of(op) if op.name.partition(".")[0] in _AS_FOR_VALUES else None
