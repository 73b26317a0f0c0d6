"""Memory on the stack of a function: slots, and the arrays by which kernels get their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from stepwell.dialects.types import int_attr
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import I64, PTR, State
from stepwell.runtime.abi import WORD_BYTES


def stack_slot(
    function: llvm.FuncOp, type: Attribute, align_bytes: int, rewriter: PatternRewriter
) -> SSAValue:
    """
    Memory on the stack, allocated once at the function's entry: an allocation inside a loop would accumulate.
    """
    entry = cast(Block, function.body.first_block)
    # Constants of the entry block may be further down: the first op is the one that all slots share.
    one = entry.first_op
    if not (isinstance(one, llvm.ConstantOp) and one.value == int_attr(1)):
        one = llvm.ConstantOp.create(properties={"value": int_attr(1)}, result_types=[I64])
        rewriter.insert(one, InsertPoint.at_start(entry))
    slot = llvm.AllocaOp.create(
        operands=one.results,
        result_types=[PTR],
        properties={"alignment": int_attr(align_bytes), "elem_type": type},
    )
    rewriter.insert(slot, InsertPoint.after(one))
    return slot.results[0]


@dataclass
class CallArray:
    """
    An array for arguments that all calls of a function share: a kernel reads them before it returns.

    A call stores what the call before it in the same block has not: layers in a row read the same weights.
    """

    element: Attribute
    pointers: list[SSAValue]
    """The addresses of the elements, computed at the function's entry."""
    block: Block | None = None
    """The block of the last call."""
    values: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """What that block has stored, by index."""

    @staticmethod
    def of(function: llvm.FuncOp, element: Attribute, rewriter: PatternRewriter) -> CallArray:
        """An array with room for one element."""
        return CallArray(element, [stack_slot(function, _array_type(1, element), WORD_BYTES, rewriter)])

    def filled(
        self, call: Operation, values: Sequence[SSAValue], code: Code, rewriter: PatternRewriter
    ) -> SSAValue:
        """The array with values for a call: appends the stores to `code`."""
        if self.block is not call.parent:
            self.block, self.values = call.parent, {}
        while len(self.pointers) < len(values):
            self._grow(code.state, rewriter)
        for index, value in enumerate(values):
            if self.values.get(index) is not value:
                self.values[index] = value
                code.store(value, self.pointers[index], WORD_BYTES)
        return self.pointers[0]

    def _grow(self, state: State, rewriter: PatternRewriter) -> None:
        """Make room for one more element."""
        first, count = self.pointers[0], len(self.pointers)
        array = cast(llvm.AllocaOp, first.owner)
        array.properties["elem_type"] = _array_type(count + 1, self.element)
        code = Code(state, array.parent)
        self.pointers.append(code.element_pointer(first, count, self.element))
        rewriter.insert(code.ops, InsertPoint.after(array))


@cache
def _array_type(size: int, element: Attribute) -> Attribute:
    return llvm.LLVMArrayType(size, element)
