"""
Requests of `@main` to the runtime → `llvm`: memory by the context's ALLOCATE, calls by its HOST, checks.
"""

from __future__ import annotations

from time import CLOCK_MONOTONIC  # code that measures its times runs on the machine that made it
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import runtime_calls
from stepwell.dialects.llvm.calls import call_pointer
from stepwell.dialects.types import int_attr
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.functions import dense_layout, return_unless
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.stack import stack_slot
from stepwell.lowering.loops_to_llvm.state import I8, I32, I64, PTR
from stepwell.runtime.abi import ARENA_ALIGNMENT, WORD_BYTES, WORDS_PER_TIMED_CALL, CtxField, Status
from stepwell.runtime.errors import StepwellError


class RuntimePattern(LoopsToLLVMPattern):
    """A pattern of an op that needs the context, and may return early from the function."""

    def context(self, op: Operation) -> SSAValue:
        """
        The context pointer of the function of an op.

        Raises: StepwellError `unsupported` where the function has none.
        """
        function, info = self.state.function(op)
        if info.context is None or not info.is_kernel:
            raise StepwellError("unsupported", op, f"{op.name} in @{function.sym_name.data}: not in @main")
        return info.context

    def field(self, op: Operation, field: CtxField, code: Code) -> SSAValue:
        """A pointer loaded from a field of the context."""
        return code.load(code.element_pointer(self.context(op), field, I64), PTR, WORD_BYTES)

    def return_unless(
        self, op: Operation, code: Code, ok: SSAValue, status: SSAValue, rewriter: PatternRewriter
    ) -> None:
        """Insert the code before the op, followed by a return of a status unless `ok`."""
        return_unless(self.state, op, code, ok, status, rewriter)


class AllocateLowering(RuntimePattern):
    """
    ```mlir
    %m = sched.allocate slot 2, %bytes : memref<?xi8>
    // ->
    %m = llvm.call %allocate(%ctx, %slot, %bytes) : !llvm.ptr, (!llvm.ptr, i64, i64) -> !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.AllocateOp, rewriter: PatternRewriter) -> None:
        """Call ALLOCATE, and return `OUT_OF_MEMORY` for a null pointer."""
        code = self.code_at(op)
        allocate = self.field(op, CtxField.ALLOCATE, code)
        slot = code.integer(op.slot.value.data)
        memory = code.value(call_pointer(allocate, [self.context(op), slot, op.bytes], PTR))
        ok = code.compare("ne", code.make(llvm.PtrToIntOp, [memory], I64), code.integer(0))
        self.state.layouts[memory] = dense_layout(op, code, I8, [None], ARENA_ALIGNMENT)
        self.return_unless(op, code, ok, _status(code, Status.OUT_OF_MEMORY), rewriter)
        rewriter.replace(op, [], [memory])


class CheckLowering(RuntimePattern):
    """
    ```mlir
    sched.check %ok row 3 shows %found, %limit
    // ->
    llvm.store %found, %values {alignment = 8 : i64} : i64, !llvm.ptr      // … in the context
    llvm.cond_br %ok, ^next, ^failed(%row : i32)
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.CheckOp, rewriter: PatternRewriter) -> None:
        """Store the shown values in the context, and return the row's number unless the check holds."""
        code = self.code_at(op)
        for i, value in enumerate((op.found, op.expected)):
            slot = code.element_pointer(self.context(op), CtxField.ERROR_VALUES + i, I64)
            code.store(value, slot, WORD_BYTES)
        self.return_unless(op, code, op.ok, _status(code, op.row.value.data), rewriter)
        rewriter.erase(op)


class PublishLowering(RuntimePattern):
    """
    ```mlir
    sched.publish %n at 3
    // ->
    %p = llvm.getelementptr inbounds %dims[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %n, %p {alignment = 8 : i64} : i64, !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.PublishOp, rewriter: PatternRewriter) -> None:
        """Store a size of an output in the `dims` argument of `@main`."""
        self.context(op)
        function, _ = self.state.function(op)
        dims = cast(Block, function.body.first_block).args[1]
        code = self.code_at(op)
        code.store(op.value, code.element_pointer(dims, op.place.value.data, I64), WORD_BYTES)
        rewriter.replace(op, code.ops, [])


class HostCallLowering(RuntimePattern):
    """
    ```mlir
    %n = sched.host_call 1 (%x, %four, %zero) reads [2] : (memref<4xf32>, index, index) -> index
    // ->
    llvm.store %x, %words {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr     // … and the other operands
    %status = llvm.call %host(%ctx, %one, %words, %three) : !llvm.ptr, (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
    llvm.cond_br %ok, ^next, ^failed(%status : i32)
    ^next:
    %n = llvm.load %place {alignment = 8 : i64} : !llvm.ptr -> i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.HostCallOp, rewriter: PatternRewriter) -> None:
        """Store operands as 8-byte slots on the stack, call HOST, and load the results from such slots."""
        function, _ = self.state.function(op)
        code = self.code_at(op)
        type = llvm.LLVMArrayType(max(1, len(op.words)), I64)
        words = stack_slot(function, type, WORD_BYTES, rewriter)
        for i, word in enumerate(op.words):
            if word in self.state.layouts and not self.state.layouts[word].is_dense:
                raise StepwellError("unsupported", op, "a host call takes dense memrefs, found a view")
            code.store(word, code.element_pointer(words, i, I64), WORD_BYTES)
        # The call, and an early return for a status other than 0.
        host = self.field(op, CtxField.HOST, code)
        callee, count = code.integer(op.callee.value.data), code.integer(len(op.words))
        status = code.value(call_pointer(host, [self.context(op), callee, words, count], I32))
        ok = code.compare("eq", status, _status(code, 0))
        self.return_unless(op, code, ok, status, rewriter)
        # Results: sizes, or pointers to memory that is known as bytes only.
        after = Code(self.state, op.parent)
        results: list[SSAValue] = []
        for place, result in zip(op.reads.get_values(), op.results, strict=True):
            is_memory = isinstance(result.type, MemRefType)
            value = after.load(
                after.element_pointer(words, place, I64), PTR if is_memory else I64, WORD_BYTES
            )
            if is_memory:
                self.state.layouts[value] = dense_layout(op, after, I8, [None], 1)
            results.append(value)
        rewriter.replace(op, after.ops, results)


class ClockLowering(RuntimePattern):
    """
    ```mlir
    sched.clock at 3
    // ->
    %time = llvm.getelementptr inbounds %times[9] : (!llvm.ptr) -> !llvm.ptr, i64
    %ok = llvm.call %clock(%monotonic, %time) : !llvm.ptr, (i32, !llvm.ptr) -> i32
    ```
    At the end of a call, as here, the op adds its seconds, its nanoseconds and 1 to the three sums.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.ClockOp, rewriter: PatternRewriter) -> None:
        """Call the clock with the address of the time's entry."""
        code = self.code_at(op)
        clock, times = self.field(op, CtxField.CLOCK, code), self.field(op, CtxField.TIMES, code)
        call, is_end = divmod(op.place.value.data, 2)
        first = WORDS_PER_TIMED_CALL * call
        time = code.element_pointer(times, first + 2 * is_end, I64)
        code.value(call_pointer(clock, [_status(code, CLOCK_MONOTONIC), time], I32))
        if is_end:  # two integers each for begin, end and the sum of times, then the number of calls
            words = [code.element_pointer(times, first + i, I64) for i in range(WORDS_PER_TIMED_CALL)]
            for begin, end, total in zip(words[:2], words[2:4], words[4:6], strict=True):
                before, after = code.load(begin, I64, WORD_BYTES), code.load(end, I64, WORD_BYTES)
                _add_to(code, total, code.make(llvm.SubOp, [after, before]))
            _add_to(code, words[-1], code.integer(1))
        rewriter.replace(op, code.ops, [])


def _add_to(code: Code, place: SSAValue, amount: SSAValue) -> None:
    code.store(code.plus(code.load(place, I64, WORD_BYTES), amount), place, WORD_BYTES)


def _status(code: Code, value: int) -> SSAValue:
    """An i32 constant."""
    return code.make(llvm.ConstantOp, [], I32, {"value": int_attr(value, 32)})
