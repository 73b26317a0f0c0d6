"""The base class of the patterns of `convert-loops-to-llvm`."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import State


class LoopsToLLVMPattern(RewritePattern, ABC):
    """
    A pattern with access to the state of the conversion.

    Operands of the matched op are converted already: an `index` is an i64, a memref is a pointer whose layout
    is in the state. Types of its results are still those of level 3.
    """

    takes: ClassVar[tuple[type[Operation], ...]] = ()
    """The ops of a table-driven pattern, whose method is typed for any op."""

    def __init__(self, state: State):
        self.state = state

    def code_at(self, op: Operation) -> Code:
        """A builder of new code that will be inserted before an op."""
        return Code(self.state, op.parent)
