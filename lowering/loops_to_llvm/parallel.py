"""
`scf.parallel` → a function for its body, and a call of the runtime's `parallel_for`.

The iterations, counted in row-major order, are split into chunks whose number comes from shapes alone, never
from the number of threads. Nested parallel loops run serially.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import cast

from xdsl.dialects import llvm, scf
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.costs.kernels import THREADS
from stepwell.dialects.llvm.calls import call_pointer
from stepwell.dialects.llvm.instructions import PoisonOp, ZeroOp
from stepwell.dialects.llvm.intrinsics import SMaxOp, SMinOp
from stepwell.dialects.sched import CHUNKS
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import lane_bits
from stepwell.lowering.loops_to_llvm.loops import make_loop
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.stack import stack_slot
from stepwell.lowering.loops_to_llvm.state import I8, I64, PTR, Extent, FunctionInfo, Layout
from stepwell.lowering.loops_to_llvm.vectors import lane_count
from stepwell.lowering.loops_to_llvm.work import work_of, work_of_parallel
from stepwell.runtime.abi import WORD_BYTES, CtxField
from stepwell.runtime.errors import StepwellError

_BODY_TYPE = llvm.LLVMFunctionType([PTR, I64, I64])
_CONSTANTS = (llvm.ConstantOp, ZeroOp, PoisonOp)


@dataclass(frozen=True)
class Range:
    """A dimension of the iteration space: lower bound, step and number of iterations."""

    lower: SSAValue
    step: SSAValue
    count: Extent


class ParallelLowering(LoopsToLLVMPattern):
    """
    ```mlir
    scf.parallel (%i) = (%lb) to (%ub) step (%s) { … %x … }     // a small one becomes loops instead
    // ->
    llvm.store %x, %captures {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr
    %body = llvm.mlir.addressof @k.body0 : !llvm.ptr
    llvm.call %parallel_for(%ctx, %body, %captures, %chunks)
        : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
    ```
    and the function, which runs the chunks from `%begin` to `%end`:
    ```mlir
    llvm.func internal @k.body0(%captures: !llvm.ptr, %begin: i64, %end: i64) { … }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ParallelOp, rewriter: PatternRewriter) -> None:
        """
        Outline the body for threads, unless the loop is too small, too short or already inside such a body.
        """
        if op.initVals:
            raise StepwellError(
                "unsupported",
                op,
                "scf.parallel that reduces to a value",
                help="reduce in an inner loop, or into memory",
            )
        code = self.code_at(op)
        ranges = [
            self._range(code, *bounds) for bounds in zip(op.lowerBound, op.upperBound, op.step, strict=True)
        ]
        _, info = self.state.function(op)
        if info.is_body:
            self._run_here(op, code, ranges, rewriter)
            return
        known = [r.count for r in ranges if isinstance(r.count, int)]
        is_known = len(known) == len(ranges)
        work = work_of(op.body.block, THREADS.worth / max(1, prod(known)) if is_known else inf)
        small = is_known and prod(known) * work < THREADS.worth
        few = is_known and prod(known) < THREADS.few and any(map(_is_worth_threads, op.body.block.ops))
        if (small or few) and CHUNKS not in op.attributes:
            self._run_here(op, code, ranges, rewriter)
        else:
            self._outline(op, code, ranges, work, rewriter)

    def _range(self, code: Code, lower: SSAValue, upper: SSAValue, step: SSAValue) -> Range:
        """A loop's bounds and number of iterations, a constant where they allow."""
        length = self.state.linear(upper) + self.state.linear(lower).scaled(-1)
        by = self.state.linear(step)
        if not length.terms and not by.terms and by.constant > 0:
            return Range(lower, step, max(0, -(-length.constant // by.constant)))
        zero = code.integer(0)
        distance = code.make(SMaxOp, [code.make(llvm.SubOp, [upper, lower]), zero])
        divisor = step if by.terms else by.constant
        return Range(lower, step, code.count_of(distance, divisor))

    def _run_here(
        self, op: scf.ParallelOp, code: Code, ranges: Sequence[Range], rewriter: PatternRewriter
    ) -> None:
        """Replace the loop by nested serial loops over the same iterations."""
        body = op.body.block
        _drop_terminator(body)
        op.body.detach_block(body)
        bounds = [
            (r.lower, code.plus(r.lower, code.materialize(code.times(r.step, r.count))), r.step)
            for r in ranges
        ]
        # From the innermost loop outwards; each takes the last argument of the block for its index.
        for bound in reversed(bounds):
            loop_body = Block(arg_types=[I64])
            index = body.args[-1]
            index.replace_all_uses_with(loop_body.args[0])
            body.erase_arg(index)
            ops = list(body.ops)
            for moved in ops:
                moved.detach()
            loop_body.add_ops(ops)
            body.add_op(make_loop(*bound, loop_body))
        loop = cast(Operation, body.first_op)
        loop.detach()
        rewriter.replace(op, [*code.ops, loop], [])

    def _outline(
        self, op: scf.ParallelOp, code: Code, ranges: Sequence[Range], work: int, rewriter: PatternRewriter
    ) -> None:
        """Replace the loop by an outlined function for ranges of chunks and a call that runs all chunks."""
        # In the caller: the numbers of iterations, of chunks, and of iterations in a chunk.
        function, info = self.state.function(op)
        total = cast(Extent, 1)
        for r in ranges:
            total = code.times(total, r.count)
        chunks, per_chunk = _split(op, code, total)
        body = Outlined(self, function, rewriter)
        begin, end = body.entry.args[1:]
        # Inside the function: iterations of the chunks from `begin` to `end`, cut at their total number.
        first, last = (
            body.code.times(begin, body.bring(per_chunk)),
            body.code.times(end, body.bring(per_chunk)),
        )
        bound = body.code.make(
            SMinOp, [body.code.materialize(last), body.code.materialize(body.bring(total))]
        )
        block = op.body.block
        _drop_terminator(block)
        op.body.detach_block(block)
        body.bring_all(block)
        body.run(block, [_brought(body, r) for r in ranges], body.code.materialize(first), bound)
        # In the caller: captured values are stored, and the function is called by address.
        captures = body.finish(code, op)
        address = code.make(llvm.AddressOfOp, [], PTR, {"global_name": body.symbol})
        few = None
        if not isinstance(total, int) and CHUNKS not in op.attributes:
            few = code.compare("slt", total, code.integer(max(1, THREADS.worth // max(1, work))))
        self._call(op, code, info, [address, captures, code.materialize(chunks)], body, few, rewriter)

    def _call(
        self,
        op: scf.ParallelOp,
        code: Code,
        info: FunctionInfo,
        arguments: Sequence[SSAValue],
        body: Outlined,
        few: SSAValue | None,
        rewriter: PatternRewriter,
    ) -> None:
        """
        Call `parallel_for` if the context has one and iterations are not `few`, else the body for all chunks.
        """
        address, captures, chunks = arguments
        direct = llvm.CallOp(body.symbol, captures, code.integer(0), chunks)
        if info.context is None:
            rewriter.replace(op, [*code.ops, direct], [])
            return
        field = code.element_pointer(info.context, CtxField.PARALLEL_FOR, I64)
        runner = code.load(field, PTR, WORD_BYTES)
        absent = code.compare("eq", code.make(llvm.PtrToIntOp, [runner], I64), code.integer(0))
        alone = absent if few is None else code.make(llvm.OrOp, [absent, few])
        before = cast(Block, op.parent)
        after = before.split_before(op)
        serial, parallel = Block(), Block()
        cast(Region, before.parent).insert_block_before([serial, parallel], after)
        call = call_pointer(runner, [info.context, address, captures, chunks])
        rewriter.insert([direct, llvm.BrOp(after)], InsertPoint.at_end(serial))
        rewriter.insert([call, llvm.BrOp(after)], InsertPoint.at_end(parallel))
        rewriter.insert(
            [*code.ops, llvm.CondBrOp(alone, serial, [], parallel, [])], InsertPoint.at_end(before)
        )
        rewriter.erase(op)


def _is_worth_threads(op: Operation) -> bool:
    """Whether an op is a parallel loop with enough work for several threads."""
    return isinstance(op, scf.ParallelOp) and work_of_parallel(op, THREADS.worth) >= THREADS.worth


def _split(op: Operation, code: Code, total: Extent) -> tuple[Extent, Extent]:
    """The number of chunks and of iterations in each; no chunk is empty."""
    wanted = op.attributes.get(CHUNKS)
    limit = wanted.value.data if isinstance(wanted, IntegerAttr) else THREADS.chunks
    if isinstance(total, int):
        per_chunk = max(1, -(-total // max(1, limit)))
        return -(-total // per_chunk), per_chunk
    size = code.make(SMaxOp, [code.count_of(total, max(1, limit)), code.integer(1)])
    return code.count_of(total, size), size


def _drop_terminator(block: Block) -> None:
    """Erase the terminator of a block."""
    if (last := block.last_op) is not None:
        last.detach()
        last.erase()


def _brought(body: Outlined, r: Range) -> Range:
    """A loop's bounds as values inside the outlined body."""
    lower, step = body.bring(r.lower), body.bring(r.step)
    assert isinstance(lower, SSAValue) and isinstance(step, SSAValue)
    return Range(lower, step, body.bring(r.count))


class Outlined:
    """The outlined function of a parallel loop's body under construction, with its captures."""

    def __init__(self, pattern: LoopsToLLVMPattern, function: llvm.FuncOp, rewriter: PatternRewriter):
        self._state = pattern.state
        self._function = function
        self._rewriter = rewriter
        number = sum(1 for info in self._state.functions.values() if info.is_body)
        self.symbol = SymbolRefAttr(f"{function.sym_name.data}.body{number}")
        self.entry = Block(arg_types=[PTR, I64, I64])
        for arg, name in zip(self.entry.args, ("captures", "begin", "end"), strict=True):
            arg.name_hint = name
        self.code = Code(self._state, self.entry)
        self._inside: dict[SSAValue, SSAValue] = {}
        self._slots: list[tuple[SSAValue, int]] = []
        self._used_bytes = 0
        self._region = Region(self.entry)

    def bring(self, value: Extent) -> Extent:
        """The value, inside the body, of an extent of the enclosing function."""
        if isinstance(value, int):
            return value
        if (inside := self._inside.get(value)) is None:
            inside = self._inside[value] = self._copy(value) or self._capture(value)
        return inside

    def _copy(self, value: SSAValue) -> SSAValue | None:
        """A clone of a constant inside the body; None for other values."""
        if not isinstance(value, OpResult) or not isinstance(value.op, _CONSTANTS):
            return None
        return self.code.value(value.op.clone())

    def _capture(self, value: SSAValue) -> SSAValue:
        """The value loaded from the captures, with its layout and known multiples."""
        size = _slot_bytes(value.type)
        slot = self.code.element_pointer(self.entry.args[0], self._used_bytes, I8)
        inside = self.code.load(slot, value.type, WORD_BYTES)
        inside.name_hint = value.name_hint
        self._slots.append((value, self._used_bytes))
        self._used_bytes += size
        if (layout := self._state.layouts.get(value)) is not None:
            self._state.layouts[inside] = self._bring_layout(layout)
        if (factor := self._state.multiple(value) if value.type == I64 else 1) != 1:
            self._state.multiples[inside] = factor
        return inside

    def _bring_layout(self, layout: Layout) -> Layout:
        """A layout whose sizes and strides are values inside the body."""
        return replace(
            layout,
            sizes=tuple(None if size is None else self.bring(size) for size in layout.sizes),
            strides=tuple(self.bring(stride) for stride in layout.strides),
        )

    def bring_all(self, block: Block) -> None:
        """Replace all operands in a block that the enclosing function defines."""
        own: set[SSAValue] = set(block.args)
        ops = list(block.walk())
        for op in ops:
            own.update(op.results)
            for region in op.regions:
                own.update(arg for inner in region.blocks for arg in inner.args)
        inside = self._inside
        for op in ops:
            operands = op.operands
            if not own.issuperset(operands):
                brought = [each if each in own else inside.get(each) or self.bring(each) for each in operands]
                op.operands = cast("list[SSAValue]", brought)

    def run(self, body: Block, ranges: Sequence[Range], first: SSAValue, last: SSAValue) -> None:
        """Append a loop over the iterations from number `first` to `last`, with `body` as its body."""
        code = self.code
        if len(ranges) == 1:
            (r,) = ranges
            lower = code.plus(r.lower, code.times(first, r.step))
            upper = code.plus(r.lower, code.times(last, r.step))
            set_type(body.args[0], I64)
            self._loop(lower, upper, r.step, body)
            return
        # Several dimensions: one loop over iteration numbers, from which the indices are computed.
        number = body.insert_arg(I64, 0)
        inner = Code(self._state, body)
        indices = _indices(inner, number, [r.count for r in ranges])
        for index, r, arg in zip(indices, ranges, list(body.args)[1:], strict=True):
            value = inner.plus(r.lower, inner.materialize(inner.times(index, r.step)))
            value.name_hint = arg.name_hint
            arg.replace_all_uses_with(value)
            body.erase_arg(arg)
        if (start := body.first_op) is not None:
            body.insert_ops_before(inner.ops, start)
        self._loop(first, last, code.integer(1), body)

    def _loop(self, lower: SSAValue, upper: SSAValue, step: SSAValue, body: Block) -> None:
        """Append a loop to the function's entry block."""
        self.code.insert(make_loop(lower, upper, step, body))

    def finish(self, code: Code, op: Operation) -> SSAValue:
        """
        The address of the captures, stored in the enclosing function; the new function joins the module.
        """
        self.entry.add_ops([*self.code.ops, llvm.ReturnOp()])
        function = llvm.FuncOp(
            self.symbol.root_reference, _BODY_TYPE, llvm.LinkageAttr("internal"), body=self._region
        )
        self._state.functions[function] = FunctionInfo(None, is_kernel=False, is_body=True)
        type = llvm.LLVMArrayType(max(1, self._used_bytes), I8)
        captures = stack_slot(self._function, type, 64, self._rewriter)
        for value, offset in self._slots:
            code.store(value, code.element_pointer(captures, offset, I8), WORD_BYTES)
        self._rewriter.insert(function, InsertPoint.after(self._function))
        return captures


def _slot_bytes(type: Attribute) -> int:
    """Bytes of a captured value, rounded up to 8-byte words."""
    if isinstance(type, llvm.LLVMPointerType):
        return WORD_BYTES
    bits = lane_bits(type) * (lane_count(type) if type.__class__ is VectorType else 1)
    return -(-bits // (8 * WORD_BYTES)) * WORD_BYTES


def _indices(code: Code, number: SSAValue, counts: Sequence[Extent]) -> list[SSAValue]:
    """The index in each dimension of an iteration number counted in row-major order."""
    indices: list[SSAValue] = []
    for count in reversed(counts[1:]):
        divisor = code.materialize(count)
        indices.append(code.make(llvm.URemOp, [number, divisor]))
        number = code.make(llvm.UDivOp, [number, divisor])
    return [number, *reversed(indices)]
