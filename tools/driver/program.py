"""A program in memory, in place of a model's file."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext


@dataclass(frozen=True)
class Program:
    """A module of any level with its context, which has the weights and the target; compiled in place."""

    module: ModuleOp
    ctx: StepwellContext

    def copy(self) -> Program:
        """A copy that shares the weights. Raises: StepwellError `file-changed`."""
        self.ctx.weights.expect_unchanged()
        return Program(self.module.clone(), self.ctx.clone())
