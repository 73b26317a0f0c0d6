"""The base class of passes on tensors: text whose schedules have been carried out passes unchanged."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.sched import UNROLLED
from stepwell.passes.base import FunctionPass, agree_with_return, functions_of


@dataclass(frozen=True)
class SchedulingPass(FunctionPass, ABC):
    """
    A pass over functions on tensors, except for those that `unroll-vectors` has marked.

    So text of `--emit vector` is input for all passes of level 2, which would otherwise copy, schedule and
    tile the ops inside of its loops.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if UNROLLED not in func.attributes:
                self.apply_to_function(ctx, func)
                agree_with_return(func)
