"""The native executor: runs a program's native functions, with the interface of `Machine`."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

import numpy as np

from stepwell.runtime.addresses import address_of
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.machine.native_segment import NativeSegment
from stepwell.runtime.vm import deep_stack
from stepwell.runtime.vm.backtrace import SHOWN, Recorded, backtrace, recorded_backtrace
from stepwell.runtime.vm.instructions import targets_of
from stepwell.runtime.vm.machine import MAX_DEPTH, expect_arguments, public_function
from stepwell.runtime.vm.native_abi import ARGUMENTS, ITEM_WORDS, Failure, Field, Kind
from stepwell.runtime.vm.native_call import Call, Packing, Words
from stepwell.runtime.vm.native_cells import CallCells
from stepwell.runtime.vm.native_tables import entry_symbol, is_fixed, thunk_symbol, thunks_of, types_of
from stepwell.runtime.vm.native_values import Items, TypeTable
from stepwell.runtime.vm.objects import Closure, Fault, Tag, Value, tags_of
from stepwell.runtime.vm.program import Function, Program, Type, short_name
from stepwell.runtime.vm.steps import PackedFunction
from stepwell.runtime.vm.tensors import TensorCheck
from stepwell.runtime.vm.verify import verify

_MOST_RESULT_WORDS = 1 << 30
# A call that may be deep or long runs on the caller's stack at first, up to so many calls and turns of loops:
# to hand it to another thread and back takes 100 us.
_SHORT, _SHORT_STACK_BYTES = 20_000, 128 << 10
_ENDLESS = 1 << 62
_P, _I = ctypes.c_void_p, ctypes.c_int64


class NativeMachine:
    """
    A program's native functions, which several threads may call at once.

    Args: `library` has the functions. `packed` has segments and host functions by name, and `segments` the
    native calls of segments that have one; the limits are as for `Machine`, and `max_memory` counts the
    memory of the call's objects.
    Raises: StepwellError `bad-bytecode` from the verifier; InternalError for the code of another program.
    """

    def __init__(
        self,
        program: Program,
        library: Library,
        packed: Mapping[str, PackedFunction],
        segments: Mapping[str, NativeSegmentMaker],
        *,
        max_depth: int = MAX_DEPTH,
        max_memory: int | None = None,
    ):
        verify(program)
        self.program, self.max_depth = program, max_depth
        self.tags: list[list[Tag]] = tags_of(program)
        """The constructors, by the numbers of data types and tags."""
        self._max_memory, self._library = max_memory, library
        self._packed, self._segments = packed, segments
        self._numbers = {function.name: number for number, function in enumerate(program.functions)}
        self._types = TypeTable([_numpy_type(type) for type in types_of(program)])
        self._constants = [np.asarray(each.array, order="C") for each in program.constants]
        thunks = thunks_of(program)
        functions = range(len(program.functions))
        self._parameters = [function.parameters for function in program.functions]
        self.items = Items(self._types, self.tags, thunks, self._parameters)
        """The conversions of values to those of native functions."""
        entries = [library.address(entry_symbol(program, number)) for number in functions]
        of_closures = [library.address(thunk_symbol(program, *pair)) for pair in thunks]
        self._tables: dict[Field, Words] = {
            Field.ENTRIES: np.array(entries or [0], np.uint64),
            Field.THUNKS: np.array(of_closures or [0], np.uint64),
        }
        self._make_tensor = library.address("vm.make_tensor")
        self._enter = ctypes.CFUNCTYPE(_I, _P, _P, _I, _P)(library.address("vm.enter"))
        self._start = ctypes.CFUNCTYPE(_P, _P, _I, _P, _I)(library.address("vm.run"))
        self._leave = ctypes.CFUNCTYPE(_I, _P, _P, _I)(library.address("vm.leave"))
        self._is_deep = needs_stack(program)
        self._has_host = any(packed.is_host for packed in program.packed)
        self._idle: list[Call] = []
        self._running = 0
        self._was_deep = False
        self._lock = threading.Lock()
        # Calls on function values with cells take turns: each reads the contents that the call before has
        # written.
        self._cells_lock = threading.RLock()

    def function(self, name: str) -> Function:
        """A public function by its name. Raises: StepwellError `unknown-function`."""
        return public_function(self.program, self._numbers, name)

    def call(self, name: str, *arguments: Value) -> Value:
        """The result of a public function. Raises: StepwellError, as of `Machine`."""
        expect_arguments(self.function(name), arguments)
        return self._run(self._numbers[name], arguments)

    def call_closure(self, closure: Closure, *arguments: Value) -> Value:
        """The result of a function value of this machine. Raises: as `call`."""
        return self._run(closure.function, (*closure.captures, *arguments))

    def _run(self, number: int, arguments: Sequence[Value]) -> Value:
        function = self.program.functions[number]
        if len(arguments) != function.parameters:
            message = f"a function of {function.parameters} parameters gets {len(arguments)} arguments"
            raise StepwellError("bad-bytecode", f"@{function.name}", message)
        call = None
        with suppress(IndexError):  # another thread may take the last one first
            call = self._idle.pop()
        call = call or self._new_call()
        with self._lock:
            if self._types.is_full and not self._running:
                self._types.clear()
            self._running += 1
        try:
            kept: list[Array] = []
            cells = CallCells(self.items)
            words = self.items.of(arguments, kept, cells.address)
            if not cells:
                return self._result(call, number, words, len(arguments), cells)
            with self._cells_lock:
                try:
                    words = cells.words(words, kept)
                    return self._result(call, number, words, len(arguments), cells)
                finally:
                    cells.write_back()
        finally:
            with self._lock:
                self._running -= 1
            call.memory.end()
            self._idle.append(call)

    def _result(self, call: Call, number: int, words: Sequence[int], count: int, cells: CallCells) -> Value:
        if not (result := self._called(call, number, words, count, cells)):
            raise self._error(call)
        return self._value(call, result, cells)

    def _new_call(self) -> Call:
        packed = [self._packing(number) for number in range(len(self.program.packed))]
        # A closure's entry gets the closure itself too.
        counts = len(self._parameters), 1 + max(self._parameters, default=0)
        limits = self.max_depth, self._max_memory
        return Call(self._types, self._tables, packed, self._constants, counts, limits, self._make_tensor)

    def _packing(self, number: int) -> Packing | NativeSegment:
        packed = self.program.packed[number]
        segment = None if packed.is_host else self._segments[packed.name].native_segment()
        if not is_fixed(packed):
            return Packing(TensorCheck(packed), self._packed[packed.name], packed.is_host, segment)
        if segment is None:
            raise InternalError(None, f"native code calls @{packed.name}, which only Python can call")
        segment.prepare(tuple(tuple(map(int, type.dims)) for type in packed.inputs))
        return segment

    def _called(self, call: Call, number: int, words: Sequence[int], count: int, cells: CallCells) -> int:
        """The address of the result, 0 after an error."""
        items, values, _owner = call.entering(words)  # whose memory stays as long as this runs
        addresses = items, len(words) // ITEM_WORDS, values
        arguments = call.address, number, addresses[2], max(0, count - ARGUMENTS)

        def begin(fuel: int, stack_bytes: int) -> None:
            call.begin(fuel, stack_bytes)
            if not self._enter(call.address, *addresses):
                raise StepwellError("out-of-memory", None, self._memory_message())
            if cells:
                cells.fill(values, count)

        if not self._is_deep or not (self._was_deep or self._has_host):
            begin(_SHORT if self._is_deep else _ENDLESS, _SHORT_STACK_BYTES if self._is_deep else 0)
            result = self._start(*arguments) or 0
            if result or not self._is_deep or int(call.words[Field.ERROR]) != Failure.STACK:
                return result
            # The call is not as short as hoped for. Nothing outside has seen of it: it runs again.
            self._was_deep = True
        return self._on_deep_stack(call, arguments, begin)

    def _on_deep_stack(
        self, call: Call, arguments: tuple[int, int, int, int], begin: Callable[[int, int], None]
    ) -> int:
        try:
            stack = deep_stack.taken()
        except MemoryError as error:
            raise StepwellError("out-of-memory", None, str(error)) from None
        begin(_ENDLESS, stack.size_bytes)
        results: list[int] = []

        def job() -> None:
            begun = deep_stack.clock()
            results.append(self._start(*arguments) or 0)
            seconds, (lowest, end) = deep_stack.clock() - begun, call.stack
            deep_stack.forget_pages(lowest, end - deep_stack.PAGES_KEPT, seconds)

        stack.run(job, call.interrupt)
        deep_stack.give_back(stack)
        return results[0]

    def _value(self, call: Call, result: int, cells: CallCells) -> Value:
        """The value of an object."""
        words, address = call.results, call.results_address
        while len(words) <= _MOST_RESULT_WORDS:
            if (count := self._leave(result, address, len(words))) >= 0:
                return self.items.value(words[: count * ITEM_WORDS].tolist())
            if count == -2:
                return cells.value(result)
            words = np.empty(len(words) * 4, np.int64)
            address = address_of(words)
        raise StepwellError("too-large", None, f"the result has more than {_MOST_RESULT_WORDS // 3:,} values")

    # Errors.

    def _error(self, call: Call) -> BaseException:
        """The error of a call that has no result, with the calls around it."""
        words = call.words
        site, detail = int(words[Field.SITE]), int(words[Field.DETAIL])
        function, pc = self.program.functions[site >> 32], site & 0xFFFFFFFF
        made = self._failure(call, Failure(int(words[Field.ERROR])), function, pc, detail)
        if isinstance(made, Fault):
            made = StepwellError(made.code, None, made.message)
        if isinstance(made, StepwellError):
            place, notes = self._backtrace(call)
            made.at(place)
            for note in notes:
                made.with_note(note)
        return made

    def _failure(
        self, call: Call, failure: Failure, function: Function, pc: int, detail: int
    ) -> BaseException:
        name, operands = function.code[pc]
        match failure:
            case Failure.STATED:
                code, message = cast("tuple[str, str]", operands[-2:])
                return Fault(code, message)
            case Failure.TOO_DEEP:
                depth = int(call.words[Field.DEPTH]) + 1
                return Fault(
                    "too-deep", f"calls nest {depth:,} deep, which reaches max_depth = {self.max_depth:,}"
                )
            case Failure.STACK:
                depth = int(call.words[Field.DEPTH])
                if call.memory.is_stack_limited:
                    message = f"calls nest {depth:,} deep, and {self._memory_message()}"
                    return Fault("out-of-memory", message)
                size = int(call.words[Field.STACK_BYTES]) >> 20
                return Fault("too-deep", f"calls nest {depth:,} deep, which uses up a stack of {size} MiB")
            case Failure.OUT_OF_MEMORY:
                return Fault("out-of-memory", self._memory_message())
            case Failure.PACKED:
                return self._packed_failure(call, detail)
            case Failure.WRONG_ARGUMENTS:
                return Fault("bad-bytecode", f"vm.{name} calls a function with another number of arguments")
            case Failure.BAD_FIELD | Failure.WRONG_KIND:
                found = _described(call, detail) if detail else "a tag beyond its targets"
                return Fault("bad-bytecode", f"vm.{name} cannot work on {found}")

    def _packed_failure(self, call: Call, detail: int) -> BaseException:
        number, status = detail & 0xFFFFFFFF, detail >> 32
        if (raised := call.failure) is not None:
            call.failure = None
            return raised if isinstance(raised, StepwellError | Fault) else self._host_fault(number, raised)
        segment = call.packed[number]
        if isinstance(segment, Packing):
            segment = segment.segment
        if segment is not None:
            return segment.failure(status - (1 << 32) if status >> 31 else status)
        return InternalError(None, "a call failed without an error")

    def _host_fault(self, number: int, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        name = self.program.packed[number].name
        return Fault("host-failed", f"@{name}: {type(error).__name__}: {error}")

    def _memory_message(self) -> str:
        if self._max_memory is None:
            return "the memory does not suffice for the values of the call"
        return f"the call's values need more than max_memory = {self._max_memory:,} bytes"

    def _backtrace(self, call: Call) -> tuple[str, list[str]]:
        count = int(call.words[Field.FRAMES])

        def calls(sites: Sequence[int]) -> list[tuple[Function, int]]:
            return [(self.program.functions[site >> 32], site & 0xFFFFFFFF) for site in sites]

        if count <= len(call.inner):
            return backtrace(calls(call.inner[:count].tolist()))
        inner = calls(call.inner[:SHOWN].tolist())
        last = [int(call.outer[n % len(call.outer)]) for n in range(count - SHOWN, count)]
        outer = calls(last)
        between = Counter(
            {f.name: int(n) for f, n in zip(self.program.functions, call.counts, strict=False) if n}
        )
        between.subtract(function.name for function, _ in (*inner, *outer))
        return recorded_backtrace(Recorded(inner, outer, +between))


class NativeSegmentMaker(Protocol):
    """A segment that can make native calls of itself."""

    def native_segment(self) -> NativeSegment | None:
        """A native call, for one call of the program at a time; None if there is none."""
        ...


def needs_stack(program: Program) -> bool:
    """
    Whether calls can nest without a bound, or a call can run for ever: then it runs on a thread of its own.
    """
    callees = [
        {cast(int, code.operands[-2]) for code in function.code if code.name in ("invoke", "tail_invoke")}
        for function in program.functions
    ]
    for function in program.functions:
        for pc, code in enumerate(function.code):
            if code.name in ("invoke_closure", "tail_invoke_closure"):
                return True
            if any(target <= pc for target in targets_of(*code)):
                return True
    state = [0] * len(callees)
    for root in range(len(callees)):
        waiting = [(root, iter(callees[root]))] if not state[root] else []
        while waiting:
            number, rest = waiting[-1]
            state[number] = 1
            if (callee := next(rest, None)) is None:
                state[number] = 2
                waiting.pop()
            elif state[callee] == 1:
                return True
            elif state[callee] == 0:
                waiting.append((callee, iter(callees[callee])))
    return False


def _numpy_type(type: Type) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return dtype_from_name(type.name), tuple(map(int, type.dims))


def _described(call: Call, address: int) -> str:
    """An object in words."""
    head = (ctypes.c_int32 * 4).from_address(address)
    match head[3] & 255:
        case Kind.TENSOR:
            dtype, shape = call.type_at(address)
            return f"the tensor {short_name(dtype.name)}[{', '.join(map(str, shape))}]"
        case Kind.DATA:
            return f"data of {head[2]} fields" if head[1] else f"a tuple of {head[2]}"
        case Kind.CLOSURE:
            return "a closure"
        case _:
            return "a cell"
