"""Builder of the LLVM functions of an entry point, block by block, with early returns of a status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, StringAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects.llvm.instructions import ZeroOp
from stepwell.dialects.types import int_attr
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import I8, I32, I64, PTR, State
from stepwell.runtime.abi import WORD_BYTES, CallField

_HIDDEN = IntegerAttr(1, 64)


class FunctionCode:
    """Builder of an LLVM function from its entry block on; `code` appends to the current block."""

    def __init__(
        self,
        state: State,
        name: str,
        arguments: Sequence[tuple[str, Attribute]],
        result: Attribute,
        *,
        internal: bool = False,
    ):
        self.state, self._result = state, result
        self.pointer_bytes = state.target.pointer_bytes
        self._block = Block(arg_types=[type for _, type in arguments])
        for arg, (hint, _) in zip(self._block.args, arguments, strict=True):
            arg.name_hint = hint
        self.arguments = self._block.args
        self.code = Code(state, self._block)
        self._fail: Block | None = None
        self._stack: list[Operation] = []
        self._region = Region(self._block)
        type = llvm.LLVMFunctionType([type for _, type in arguments], result)
        linkage = llvm.LinkageAttr("internal" if internal else "external")
        self.function = llvm.FuncOp(name, type, linkage, body=self._region)

    def require(self, ok: SSAValue, status: SSAValue | int) -> None:
        """Emit a return of a status unless `ok`; code after it is in a new block."""
        code, following = self.code, Block()
        if self._fail is None:
            self._fail = Block(arg_types=[self._result])
            self._fail.add_op(llvm.ReturnOp(self._fail.args[0]))
        value = code.integer(status, cast(IntegerType, self._result)) if isinstance(status, int) else status
        self._end(llvm.CondBrOp(ok, following, [], self._fail, [value]))
        self._start(following)

    def when(self, condition: SSAValue) -> tuple[Block, Block]:
        """Begin code that runs only under a condition; `rejoin` ends it."""
        inside, after = Block(), Block()
        self._end(llvm.CondBrOp(condition, inside, [], after, []))
        self._start(inside)
        return inside, after

    def rejoin(self, after: Block) -> None:
        """End the code under a condition."""
        self._end(llvm.BrOp(after))
        self._start(after)

    def _end(self, terminator: llvm.CondBrOp | llvm.BrOp | llvm.ReturnOp) -> None:
        self._block.add_ops([*self.code.ops, terminator])

    def _start(self, block: Block) -> None:
        self._region.add_block(block)
        self._block = block
        self.code = Code(self.state, block)

    def finish(self, value: SSAValue) -> llvm.FuncOp:
        """The function, whose last block returns a value."""
        self._end(llvm.ReturnOp(value))
        entry = self._region.blocks[0]
        if self._stack and (first := entry.first_op) is not None:
            entry.insert_ops_before(self._stack, first)
        if self._fail is not None:
            self._region.add_block(self._fail)
        return self.function

    # Values

    def is_null(self, pointer: SSAValue) -> SSAValue:
        """Whether a pointer is null."""
        return self.code.compare("eq", self.address(pointer), self.code.integer(0))

    def is_set(self, pointer: SSAValue) -> SSAValue:
        """Whether a pointer is not null."""
        return self.code.compare("ne", self.address(pointer), self.code.integer(0))

    def address(self, pointer: SSAValue) -> SSAValue:
        """A pointer as i64."""
        return self.code.make(llvm.PtrToIntOp, [pointer], I64)

    def null(self) -> SSAValue:
        """The null pointer."""
        return self.code.make(ZeroOp, [], PTR)

    def symbol(self, name: str) -> SSAValue:
        """The address of a function or global."""
        return self.code.value(llvm.AddressOfOp(name, PTR))

    def pointer_at(self, base: SSAValue, index: int) -> SSAValue:
        """A pointer loaded from an array or struct of pointers."""
        return self.code.load(self.code.element_pointer(base, index, PTR), PTR, self.pointer_bytes)

    def number_at(self, base: SSAValue, index: int) -> SSAValue:
        """An i64 loaded from an array or struct of such."""
        return self.code.load(self.code.element_pointer(base, index, I64), I64, WORD_BYTES)

    def member(self, call: SSAValue, field: CallField) -> SSAValue:
        """The address of a member of the call's struct."""
        return self.code.element_pointer(call, field.offset(self.pointer_bytes), I8)

    def stack(self, element: Attribute, count: int) -> SSAValue:
        """An array on the stack, allocated at the function's entry."""
        if not self._stack:
            self._stack.append(llvm.ConstantOp.create(properties={"value": int_attr(1)}, result_types=[I64]))
        alloca = llvm.AllocaOp.create(
            operands=self._stack[0].results,
            result_types=[PTR],
            properties={
                "alignment": int_attr(WORD_BYTES),
                "elem_type": llvm.LLVMArrayType(max(1, count), element),
            },
        )
        self._stack.append(alloca)
        return alloca.results[0]


def text_global(name: str, text: str) -> llvm.GlobalOp:
    """A global constant with the UTF-8 bytes of a text, without a terminating zero."""
    return _constant(name, llvm.LLVMArrayType(len(text.encode()), I8), StringAttr(text))


def numbers_global(name: str, numbers: Sequence[int]) -> llvm.GlobalOp:
    """A global constant, an array of i32."""
    value = DenseIntOrFPElementsAttr.from_list(VectorType(I32, [len(numbers)]), numbers)  # pyright: ignore
    return _constant(name, llvm.LLVMArrayType(len(numbers), I32), value)


def _constant(name: str, type: Attribute, value: Attribute) -> llvm.GlobalOp:
    return llvm.GlobalOp(type, name, "internal", constant=True, value=value)


def outside_constant(name: str) -> llvm.GlobalOp:
    """The declaration of bytes that another object of the same program defines."""
    declared = llvm.GlobalOp(llvm.LLVMArrayType(0, I8), StringAttr(name), "external", constant=True)
    declared.properties["visibility_"] = _HIDDEN
    return declared
