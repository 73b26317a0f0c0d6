"""`sched.entry` → the functions of `llvm` by which programs in C call a model: sizes, call, messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.llvm.calls import call_pointer, call_symbol
from stepwell.dialects.llvm.instructions import SelectOp
from stepwell.dialects.sched_entry import EntryOp, Signature
from stepwell.lowering.loops_to_llvm.entry_code import (
    FunctionCode,
    numbers_global,
    outside_constant,
    text_global,
)
from stepwell.lowering.loops_to_llvm.entry_sizes import CheckedSizes
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import I8, I32, I64, PTR, State
from stepwell.runtime.abi import (
    ARENA_ALIGNMENT,
    CTX_BYTES,
    ENTRY_MESSAGES,
    FAILED_CHECK,
    MAX_ENTRY_SIZE,
    PARALLEL_FOR,
    WORD_BYTES,
    CallField,
    CtxField,
    EntryStatus,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.interface import MAX_TENSOR_BYTES

_CTX_WORDS = CTX_BYTES // WORD_BYTES
_CALL, _OUTPUTS = _CTX_WORDS, _CTX_WORDS + 1
"""Indices of the caller's structs, after the fields of the context."""
_UNKNOWN = "unknown status"


class EntryLowering(LoopsToLLVMPattern):
    """
    The functions of an entry; a size that is wrong or a null pointer ends a call before anything is written.

    ```mlir
    sched.entry @mlp of @main {weights = "embed", offsets = array<i64: 0, 64>}
    // ->
    llvm.func @mlp_workspace_bytes() -> i64 { … }
    llvm.func @mlp_run(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %call: !llvm.ptr) -> i32 { … }
    llvm.func @mlp_message(%status: i32) -> !llvm.ptr { … }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EntryOp, rewriter: PatternRewriter) -> None:
        """Replace the op by globals and functions."""
        signature = self.state.signatures[op.function.string_value()]
        entry = _Entry(self.state, op, signature)
        rewriter.replace(op, [*entry.globals(), *entry.functions()], [])


class _Entry:
    """The functions of an entry under construction."""

    def __init__(self, state: State, op: EntryOp, signature: Signature):
        self.state, self.op, self.signature = state, op, signature
        self.program = signature.program
        self.symbols = signature.symbols
        self.offsets = op.offsets.get_values()
        self.name = op.sym_name.data
        self.rows = [text.data for text in op.messages] + [message for _, _, message in op.conditions]

    def symbol(self, suffix: str) -> str:
        """The name of a function or global of this entry."""
        return f"{self.name}_{suffix}"

    # Globals

    def globals(self) -> list[Operation]:
        """Constants that the functions read, and declarations of what other objects define."""
        found: list[Operation] = [*self._message_globals()]
        if self.op.json is not None:
            found.append(text_global(self.symbol("json_text"), self.op.json.data + "\0"))
        if self.offsets and self.op.weights.data != "file":
            found.append(outside_constant(self.symbol("weights")))
        context = [PTR, PTR, PTR, I64]
        type = llvm.LLVMFunctionType(context)
        # Hidden: of the same file, so that no table of addresses is needed.
        return [*found, llvm.FuncOp(PARALLEL_FOR, type, llvm.LinkageAttr("external"), visibility=1)]

    def _message_globals(self) -> list[Operation]:
        """The messages in one constant, from the lowest status on, and the position of each."""
        texts = [*reversed(ENTRY_MESSAGES.values()), "ok", *self.rows, _UNKNOWN]
        ends = accumulate(len(text.encode()) + 1 for text in texts)
        positions = [0, *list(ends)[:-1]]
        text = "".join(f"{text}\0" for text in texts)
        return [
            text_global(self.symbol("messages"), text),
            numbers_global(self.symbol("positions"), positions),
        ]

    # Functions

    def functions(self) -> list[Operation]:
        """The functions, those that only others of them call first."""
        found: list[Operation] = []
        if self.program.slots.data:
            found.append(self._allocate())
        if self.op.host_calls is not None:
            found.append(self._host())
        found += [self._workspace_bytes(), self._run(), self._message()]
        if self.op.json is not None:
            function = FunctionCode(self.state, self.symbol("json"), [], PTR)
            found.append(function.finish(function.symbol(self.symbol("json_text"))))
        return found

    def _workspace_bytes(self) -> llvm.FuncOp:
        """The bytes of the arena for sizes, or a status for sizes that are wrong."""
        arguments = [("dims", PTR)] if self.symbols else []
        f = FunctionCode(self.state, self.symbol("workspace_bytes"), arguments, I64)
        if self.symbols:
            f.require(f.is_set(f.arguments[0]), EntryStatus.BAD_ARGUMENT)
        values = self._values(f)
        sizes = CheckedSizes(f.code, values)
        for value in values.values():
            sizes.expect_between(value, 0, MAX_ENTRY_SIZE)
        for size in self.signature.sizes:
            sizes.expect_between(sizes.value(size), 0, MAX_TENSOR_BYTES)
        arena = sizes.value(Dim.of(0) if self.program.pools.data else self.program.arena_bytes)
        sizes.expect_between(arena, 0, MAX_TENSOR_BYTES)
        conditions = [(sizes.value(a), sizes.value(b)) for a, b, _ in self.op.conditions]
        f.require(f.code.compare("eq", sizes.bad, f.code.integer(0, _I1)), EntryStatus.BAD_ARGUMENT)
        first = len(self.op.messages) + 1
        for number, (left, right) in enumerate(conditions):
            f.require(f.code.compare("eq", left, right), FAILED_CHECK - first - number)
        return f.finish(arena)

    def _values(self, f: FunctionCode) -> dict[str, SSAValue]:
        """The sizes that the caller passes, by name; `dims` is the argument before the last but in `run`."""
        if not self.symbols:
            return {}
        return {name: f.number_at(f.arguments[0], i) for i, name in enumerate(self.symbols)}

    def _run(self) -> llvm.FuncOp:
        """A call: what is wrong with its arguments, or the status of `@main`."""
        names = ["inputs", "outputs", *(["dims"] if self.symbols else [])]
        names += ["shapes"] if self.program.published.data else []
        f = FunctionCode(self.state, self.symbol("run"), [(name, PTR) for name in (*names, "call")], I32)
        given = dict(zip((*names, "call"), f.arguments, strict=True))
        self._require_set(f, [value for name, value in given.items() if name != "dims"])
        arrays = self._arrays(f, given)
        bytes = self._arena(f, given)
        memories = self._memories(f, given["call"]) or [self._workspace(f, given["call"], bytes)]
        table = self._weights(f, given["call"])
        context = self._context(f, given, table)
        args = f.stack(PTR, len(arrays) + len(memories))
        for index, pointer in enumerate((*arrays, *memories)):
            f.code.store(pointer, f.code.element_pointer(args, index, PTR), f.pointer_bytes)
        values = {name: f.number_at(given["dims"], i) for i, name in enumerate(self.symbols)}
        symbols = self.program.symbol_names
        dims = f.stack(I64, len(symbols) + len(self.program.published))
        for index, name in enumerate(symbols):
            f.code.store(values[name], f.code.element_pointer(dims, index, I64), WORD_BYTES)
        callee = SymbolRefAttr(self.op.function.string_value())
        status = f.code.value(call_symbol(callee, [args, dims, context], I32))
        shown = f.member(given["call"], CallField.VALUES)
        for index in range(2):
            value = f.number_at(context, CtxField.ERROR_VALUES + index)
            f.code.store(value, f.code.element_pointer(shown, index, I64), WORD_BYTES)
        f.require(f.code.compare("eq", status, f.code.integer(0, I32)), status)
        for index in range(len(self.program.published)):
            value = f.number_at(dims, len(symbols) + index)
            f.code.store(value, f.code.element_pointer(given["shapes"], index, I64), WORD_BYTES)
        return f.finish(f.code.integer(0, I32))

    def _require_set(self, f: FunctionCode, pointers: Sequence[SSAValue]) -> None:
        """Require pointers not to be null."""
        if not pointers:
            return
        ok = f.is_set(pointers[0])
        for pointer in pointers[1:]:
            ok = f.code.make(llvm.AndOp, [ok, f.is_set(pointer)])
        f.require(ok, EntryStatus.BAD_ARGUMENT)

    def _arrays(self, f: FunctionCode, given: Mapping[str, SSAValue]) -> list[SSAValue]:
        """
        The pointers to inputs and outputs; for an allocated output, the pointer to the variable that gets its
        pointer.
        """
        counts = {"inputs": self.program.inputs.data, "outputs": self.program.outputs.data}
        arrays = [f.pointer_at(given[name], i) for name, count in counts.items() for i in range(count)]
        self._require_set(f, arrays)
        return arrays

    def _arena(self, f: FunctionCode, given: Mapping[str, SSAValue]) -> SSAValue:
        """The bytes of the arena, after the sizes were checked."""
        arguments = [given["dims"]] if self.symbols else []
        bytes = f.code.value(call_symbol(SymbolRefAttr(self.symbol("workspace_bytes")), arguments, I64))
        zero = f.code.integer(0)
        status = _row_or_status(f, f.code.make(llvm.TruncOp, [bytes], I32))
        f.require(f.code.compare("sge", bytes, zero), status)
        return bytes

    def _workspace(self, f: FunctionCode, call: SSAValue, bytes: SSAValue) -> SSAValue:
        """The workspace, which is large enough and aligned."""
        pointer = f.code.load(f.member(call, CallField.WORKSPACE), PTR, f.pointer_bytes)
        size_type = IntegerType(8 * f.pointer_bytes)
        size = f.code.load(f.member(call, CallField.WORKSPACE_BYTES), size_type, f.pointer_bytes)
        if size_type != I64:
            size = f.code.make(llvm.ZExtOp, [size], I64)
        unused = f.code.compare("eq", bytes, f.code.integer(0))
        f.require(f.code.make(llvm.OrOp, [unused, f.is_set(pointer)]), EntryStatus.BAD_ARGUMENT)
        f.require(f.code.compare("uge", size, bytes), EntryStatus.SMALL_WORKSPACE)
        f.require(_is_aligned(f, pointer), EntryStatus.BAD_ALIGNMENT)
        return pointer

    def _memories(self, f: FunctionCode, call: SSAValue) -> list[SSAValue]:
        """The addresses of the memory pools, with checks of the used ones; empty for one arena."""
        places = f.member(call, CallField.MEMORIES)
        pools = {f.pointer_at(places, i): size for i, size in enumerate(self.program.pool_bytes.values())}
        used = [pointer for pointer, size in pools.items() if size]
        self._require_set(f, used)
        for pointer in used:
            f.require(_is_aligned(f, pointer), EntryStatus.BAD_ALIGNMENT)
        return list(pools)

    def _weights(self, f: FunctionCode, call: SSAValue) -> SSAValue:
        """The table of the addresses of weights."""
        if not self.offsets:
            return f.null()
        if self.op.weights.data == "file":
            base = f.code.load(f.member(call, CallField.WEIGHTS), PTR, f.pointer_bytes)
            f.require(f.is_set(base), EntryStatus.NO_WEIGHTS)
        else:
            base = f.symbol(self.symbol("weights"))
        if self.op.weights.data != "embed":
            f.require(_is_aligned(f, base), EntryStatus.BAD_ALIGNMENT)
        table = f.stack(PTR, len(self.offsets))
        for index, offset in enumerate(self.offsets):
            pointer = f.code.element_pointer(base, offset, I8)
            f.code.store(pointer, f.code.element_pointer(table, index, PTR), f.pointer_bytes)
        return table

    def _context(self, f: FunctionCode, given: Mapping[str, SSAValue], table: SSAValue) -> SSAValue:
        """The context of the call on the stack, and after it the caller's structs."""
        context, call = f.stack(I64, _CTX_WORDS + 2), given["call"]
        pool = f.code.load(f.member(call, CallField.POOL), PTR, f.pointer_bytes)
        parallel_for = f.code.make(SelectOp, [f.is_null(pool), f.null(), f.symbol(PARALLEL_FOR)], PTR)
        allocate = f.symbol(self.symbol("allocate")) if self.program.slots.data else f.null()
        host = f.symbol(self.symbol("host")) if self.op.host_calls is not None else f.null()
        fields = {
            CtxField.PARALLEL_FOR: parallel_for,
            CtxField.POOL: pool,
            CtxField.HOST: host,
            CtxField.ALLOCATE: allocate,
            CtxField.WEIGHTS: table,
            CtxField.CLOCK: f.null(),
            CtxField.TIMES: f.null(),
            _CALL: call,
            _OUTPUTS: given["outputs"],
        }
        for word, value in fields.items():
            f.code.store(value, f.code.element_pointer(context, word, I64), WORD_BYTES)
        for index in range(2):
            slot = f.code.element_pointer(context, CtxField.ERROR_VALUES + index, I64)
            f.code.store(f.code.integer(0), slot, WORD_BYTES)
        return context

    def _allocate(self) -> llvm.FuncOp:
        """Memory whose size depends on data, from the caller; that of an output is stored for the caller."""
        arguments: list[tuple[str, Attribute]] = [("ctx", PTR), ("slot", I64), ("bytes", I64)]
        f = FunctionCode(self.state, self.symbol("allocate"), arguments, PTR, internal=True)
        context, slot, bytes = f.arguments
        call = _word(f, context, _CALL)
        function = f.code.load(f.member(call, CallField.ALLOCATE), PTR, f.pointer_bytes)
        f.require(f.is_set(function), f.null())
        user = f.code.load(f.member(call, CallField.USER), PTR, f.pointer_bytes)
        memory = f.code.value(call_pointer(function, [user, slot, bytes], PTR))
        f.require(_is_aligned(f, memory), f.null())
        outputs = self.program.outputs.data
        _, after = f.when(f.code.compare("ult", slot, f.code.integer(outputs)))
        table = _word(f, context, _OUTPUTS)
        place = f.code.load(f.code.element_pointer(table, slot, PTR), PTR, f.pointer_bytes)
        f.code.store(memory, place, f.pointer_bytes)
        f.rejoin(after)
        return f.finish(memory)

    def _host(self) -> llvm.FuncOp:
        """A call of the host, by the caller's function."""
        arguments: list[tuple[str, Attribute]] = [("ctx", PTR), ("callee", I64), ("words", PTR), ("n", I64)]
        f = FunctionCode(self.state, self.symbol("host"), arguments, I32, internal=True)
        context, *rest = f.arguments
        call = _word(f, context, _CALL)
        function = f.code.load(f.member(call, CallField.HOST), PTR, f.pointer_bytes)
        f.require(f.is_set(function), EntryStatus.HOST_FAILED)
        user = f.code.load(f.member(call, CallField.USER), PTR, f.pointer_bytes)
        status = f.code.value(call_pointer(function, [user, *rest], I32))
        f.require(f.code.compare("eq", status, f.code.integer(0, I32)), EntryStatus.HOST_FAILED)
        return f.finish(status)

    def _message(self) -> llvm.FuncOp:
        """The message of a status; that of an unknown one is the last."""
        f = FunctionCode(self.state, self.symbol("message"), [("status", I32)], PTR)
        lowest, last = min(EntryStatus), len(self.rows) + 1
        status = _row_or_status(f, f.arguments[0])
        index = f.code.make(llvm.SubOp, [status, f.code.integer(lowest, I32)])
        unknown = f.code.integer(last - lowest, I32)
        outside = f.code.compare("ugt", index, unknown)
        index = f.code.make(SelectOp, [outside, unknown, index], I32)
        wide = f.code.make(llvm.ZExtOp, [index], I64)
        positions, texts = f.symbol(self.symbol("positions")), f.symbol(self.symbol("messages"))
        position = f.code.load(f.code.element_pointer(positions, wide, I32), I32, 4)
        wide_position = f.code.make(llvm.ZExtOp, [position], I64)
        return f.finish(f.code.element_pointer(texts, wide_position, I8))


_I1 = IntegerType(1)


def _row_or_status(f: FunctionCode, status: SSAValue) -> SSAValue:
    """The row of the table that a number of `FAILED_CHECK` and below is for; any other status as it is."""
    row = f.code.make(llvm.SubOp, [f.code.integer(FAILED_CHECK, I32), status])
    is_row = f.code.compare("sgt", row, f.code.integer(0, I32))
    return f.code.make(SelectOp, [is_row, row, status], I32)


def _word(f: FunctionCode, context: SSAValue, index: int) -> SSAValue:
    """A pointer loaded from a field of the context."""
    return f.code.load(f.code.element_pointer(context, index, I64), PTR, WORD_BYTES)


def _is_aligned(f: FunctionCode, pointer: SSAValue) -> SSAValue:
    """Whether a pointer is a multiple of the alignment of the arena, or null."""
    low = f.code.make(llvm.AndOp, [f.address(pointer), f.code.integer(ARENA_ALIGNMENT - 1)])
    return f.code.compare("eq", low, f.code.integer(0))
