"""Requests of `@main` to the caller → C: checks, sizes that it found, memory, calls of the host."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType, i32
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_PointerType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc, runtime_calls
from stepwell.dialects.ir_builder import INDEX, number_attr
from stepwell.lowering.loops_to_emitc.functions import main_argument
from stepwell.lowering.loops_to_emitc.pattern import BYTES, I8, I64, Code, Layout, LoopsToEmitCPattern
from stepwell.runtime.abi import Status
from stepwell.runtime.errors import StepwellError


class CheckLowering(LoopsToEmitCPattern):
    """
    ```mlir
    sched.check %ok row 3 shows %found, %limit
    // ->
    emitc.verbatim "if (!{}) return failed({}, 3, {}, {});" args …
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.CheckOp, rewriter: PatternRewriter) -> None:
        """Return the row's number unless the check holds, with both numbers for the caller."""
        text = f"if (!({{}})) return failed({{}}, {op.row.value.data}, {{}}, {{}});"
        call = main_argument(op, "call")
        rewriter.replace(op, emitc.VerbatimOp(text, op.ok, call, op.found, op.expected), [])


class PublishLowering(LoopsToEmitCPattern):
    """
    ```mlir
    sched.publish %n at 3
    // ->
    emitc.verbatim "{}[0] = {};" args %shapes, %n : !emitc.ptr<i64>, index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.PublishOp, rewriter: PatternRewriter) -> None:
        """Store a size of an output for the caller."""
        code, shapes = Code.before(op), main_argument(op, "shapes")
        place = code.materialize(op.place.value.data - _symbols(op))
        element = code.value(emitc.SubscriptOp(shapes, place))
        code.insert(emitc.AssignOp(code.cast(op.value, I64), element))
        rewriter.replace(op, code.ops, [])


def _symbols(op: Operation) -> int:
    """The number of sizes that the caller passes to `@main`."""
    parent = op.parent_op()
    while not isinstance(parent, emitc.FuncOp):
        parent = cast(Operation, parent).parent_op()
    return sum(arg.type == INDEX for arg in parent.body.block.args)


class AllocateLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %m = sched.allocate slot 2, %bytes : memref<?xi8>
    // ->
    %m = emitc.call_opaque "allocate"(%call, %slot, %bytes) : …
    emitc.verbatim "if ({} == 0) return -2;" args %m : !emitc.ptr<ui8>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.AllocateOp, rewriter: PatternRewriter) -> None:
        """Ask the caller for memory, and return `NO_MEMORY` where there is none."""
        code, slot = Code.before(op), op.slot.value.data
        call, allocated = main_argument(op, "call"), main_argument(op, "allocated")
        number = code.value(emitc.ConstantOp(number_attr(slot, I64)))
        operands = [call, number, code.cast(op.bytes, I64), allocated]
        memory = code.call("allocate", operands, BYTES)
        code.insert(emitc.VerbatimOp(f"if ({{}} == 0) return {int(Status.OUT_OF_MEMORY)};", memory))
        self.state.layouts[memory] = Layout(I8, (None,), (1,))
        rewriter.replace(op, code.ops, [memory])


class HostCallLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %n = sched.host_call 1 (%x, %four) reads [1] : (memref<4xf32>, index) -> index
    // ->
    %words = emitc.variable : !emitc.array<2xi64>
    … emitc.verbatim "if (call_host({}, 1, {}, 2) != 0) return -1;" args %call, %words : …
    %n = emitc.load %place : !emitc.lvalue<i64> to i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: runtime_calls.HostCallOp, rewriter: PatternRewriter) -> None:
        """Pass operands as 64-bit words, and read results from such."""
        code, call = Code.before(op), main_argument(op, "call")
        count = len(op.words)
        words = code.value(emitc.VariableOp(EmitC_ArrayType([max(1, count)], I64), "words"))
        for number, word in enumerate(op.words):
            if word in self.state.layouts and not self.state.layouts[word].is_dense:
                raise StepwellError("unsupported", op, "a host call takes dense memrefs, found a view")
            is_pointer = isinstance(word.type, EmitC_PointerType | EmitC_ArrayType)
            value = code.call("word_of", [word], I64) if is_pointer else code.cast(word, I64)
            code.insert(emitc.AssignOp(value, _word(code, words, number)))
        text = f"if (call_host({{}}, {op.callee.value.data}, {{}}, {count}) != 0) return {{}};"
        failed = code.value(emitc.ConstantOp(number_attr(int(Status.HOST_FAILED), i32)))
        code.insert(emitc.VerbatimOp(text, call, words, failed))
        results: list[SSAValue] = []
        for place, result in zip(op.reads.get_values(), op.results, strict=True):
            value = code.value(emitc.LoadOp(_word(code, words, int(place))))
            if isinstance(result.type, MemRefType):
                value = code.call("pointer_of", [value], BYTES)
                self.state.layouts[value] = Layout(I8, (None,), (1,))
            else:
                value = code.call("index_of_i64", [value], INDEX)
            results.append(value)
        rewriter.replace(op, code.ops, results)


def _word(code: Code, words: SSAValue, number: int) -> SSAValue:
    return code.value(emitc.SubscriptOp(words, code.materialize(number)))
