"""The prelude: data types and functions that a program may use without defining them, from `prelude.mlir`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

PRELUDE = Path(__file__).with_name("prelude.mlir")


@cache
def prelude() -> ModuleOp:
    """The module of the prelude, read once in a process, and never changed."""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.parser import parse_module

    return parse_module(StepwellContext(), PRELUDE.read_text(), PRELUDE.name)


@cache
def prelude_functions() -> dict[str, func.FuncOp]:
    """The functions of the prelude, by name."""
    return {op.sym_name.data: op for op in prelude().ops if isinstance(op, func.FuncOp)}
