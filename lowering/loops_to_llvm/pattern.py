"""The base class of the patterns of `convert-loops-to-llvm`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects._xdsl import set_class, set_type
from stepwell.lowering.loops_to_llvm.code import Code, access_properties
from stepwell.lowering.loops_to_llvm.state import State, converted_type


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

    def become(
        self,
        op: Operation,
        op_class: type[Operation],
        rewriter: PatternRewriter,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Make the matched op one of `llvm` in place, with the same operands."""
        rewriter.has_done_action = True  # before it changes, for listeners
        for result in op.results:
            set_type(result, converted_type(result.type))
        set_class(op, op_class, properties or {})
        rewriter.handle_operation_insertion(op)

    def become_access(
        self,
        op: Operation,
        op_class: type[Operation],
        rewriter: PatternRewriter,
        code: Code,
        operands: Sequence[SSAValue],
        alignment: int,
    ) -> None:
        """Make the matched op a load or store in place, after the code that computes its operands."""
        rewriter.has_done_action = True
        if code.ops:
            rewriter.insert(code.ops, InsertPoint.before(op))
            for result in [result for made in code.ops for result in made.results if op.results]:
                result.name_hint = result.name_hint or op.results[0].name_hint
        op.operands = operands
        self.become(op, op_class, rewriter, access_properties(alignment))
