"""The base class of passes over programs of the accelerator."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import npu
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class ProgramPass(Pass):
    """A pass over each program of a module by itself."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in list(op.walk()):
            if isinstance(program, npu.ProgramOp):
                self.apply_to_program(program)

    @abstractmethod
    def apply_to_program(self, program: npu.ProgramOp) -> None:
        """Change a program."""
