"""Passes on many functions, half of them in another process if one is idle."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.machine.target import TargetDescription

Begin: TypeAlias = Callable[[Sequence[FuncOp], str, TargetDescription], Callable[[], Sequence[FuncOp] | None]]
"""
Begins to run a pipeline on copies of functions for a target, and returns a function that waits for these
copies and returns them, or None after a failure.
"""

_OTHER: ContextVar[Begin | None] = ContextVar("stepwell_other_process", default=None)


@contextmanager
def other_process(begin: Begin | None) -> Generator[None]:
    """A context manager in which another process may run passes."""
    token = _OTHER.set(begin)
    try:
        yield
    finally:
        _OTHER.reset(token)


def run_on_copies(functions: Sequence[FuncOp], pipeline: str, ctx: Context) -> list[FuncOp]:
    """
    Copies of functions after passes, which run on each function alone.

    Raises: StepwellError of a pass.
    """
    begin = _OTHER.get()
    here = len(functions) if len(functions) < COMPILER.least_divided else (len(functions) + 1) // 2
    if begin is None or here == len(functions):
        return _copies_here(functions, pipeline, ctx)
    wait = begin(functions[here:], pipeline, target_of(ctx))
    try:
        copies = _copies_here(functions[:here], pipeline, ctx)
    finally:
        others = wait()  # nobody else asks that process meanwhile
    if others is None:
        return [*copies, *_copies_here(functions[here:], pipeline, ctx)]
    ModuleOp([*others])  # each is in a module, as those of this process
    return [*copies, *others]


def _copies_here(functions: Sequence[FuncOp], pipeline: str, ctx: Context) -> list[FuncOp]:
    copies = [function.clone() for function in functions]
    run_pipeline(ModuleOp(copies), pipeline, ctx)
    return copies
