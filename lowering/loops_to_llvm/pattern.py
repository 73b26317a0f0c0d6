"""The base of the patterns of `convert-loops-to-llvm`."""

from __future__ import annotations

from abc import ABC

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import State


class LoopsToLLVMPattern(RewritePattern, ABC):
    """
    A pattern that knows the state of the conversion.

    Operands of the matched op are converted already: an `index` is an i64, a memref is a pointer whose layout
    the state knows. Types of its results are those of level 3 still.
    """

    def __init__(self, state: State):
        self.state = state

    def code_at(self, op: Operation) -> Code:
        """New code in front of an op."""
        return Code(self.state, op.parent)
