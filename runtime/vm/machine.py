"""
The machine: runs linked functions with frames on a list, so that depth costs memory and no Python recursion.

A frame is the registers of a function and the run that ended in a call: that has the function, the number of
the instruction and the register of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypedDict

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.vm.array_calls import ArrayCalls
from stepwell.runtime.vm.backtrace import backtrace
from stepwell.runtime.vm.limits import InstructionLimit, MemoryLimit
from stepwell.runtime.vm.linked import (
    CALL,
    CALL_CLOSURE,
    GOTO,
    JUMP,
    RETURN,
    TAIL_CALL,
    Frame,
    Hooks,
    Linked,
    Run,
    link,
)
from stepwell.runtime.vm.objects import Closure, Fault, Registers, Tag, Value, tags_of, wrong_kind
from stepwell.runtime.vm.program import Function, Program
from stepwell.runtime.vm.steps import PackedFunction, Tables
from stepwell.runtime.vm.verify import verify

MAX_DEPTH = 1_000_000
"""The default limit of frames."""
# Registers of all frames: 1,000,000 frames of up to 64, or 512 MB.
MAX_STACK_REGISTERS = 1 << 26
_FIRST_CHECK = 1024
# 64 of the largest frames have 32 MB.
_LEAST_MORE = 64


class Limits(TypedDict, total=False):
    """Limits of calls, and their observers: keywords of `Machine`."""

    max_depth: int
    max_memory: int | None
    max_instructions: int | None
    hooks: Callable[[], Sequence[Hooks]]


class Machine:
    """
    A program that can be called, by several threads at once: a call owns its frames.

    Args: `packed` has the functions of segments and of the host by name; each takes arrays, and returns an
    array or a list or tuple of several. `max_depth` bounds the frames, `max_memory` the bytes of tensors and
    objects alive in a call (within a sixteenth), `max_instructions` the instructions of a call (checked
    before each run of instructions without a jump or call). `hooks` makes observers of one thread's calls.
    `array_calls` is native code that calls segments.
    Raises: StepwellError `bad-bytecode`, `too-large` from the verifier; `unknown-function` where a packed
    function is missing.
    """

    def __init__(
        self,
        program: Program,
        packed: Mapping[str, PackedFunction],
        *,
        max_depth: int = MAX_DEPTH,
        max_memory: int | None = None,
        max_instructions: int | None = None,
        hooks: Callable[[], Sequence[Hooks]] = tuple,
        array_calls: ArrayCalls | None = None,
    ):
        verify(program)
        missing = [each.name for each in program.packed if each.name not in packed]
        if missing:
            message = f"the program calls @{missing[0]}, which is not there"
            raise StepwellError("unknown-function", None, message)
        self.program = program
        self.tags: list[list[Tag]] = tags_of(program)
        """The constructors, by the numbers of data types and tags."""
        self.max_depth = max_depth
        self._limits = max_memory, max_instructions
        self._hooks = hooks
        callees = [(each, packed[each.name]) for each in program.packed]
        constants = [each.array for each in program.constants]
        self._tables = Tables(constants, self.tags, callees, array_calls)
        self._numbers = {function.name: number for number, function in enumerate(program.functions)}
        # Each running call uses one of these alone: limits and observers count in it.
        self._idle: list[_Call] = []

    def function(self, name: str) -> Function:
        """A public function by its name. Raises: StepwellError `unknown-function`."""
        return public_function(self.program, self._numbers, name)

    def call(self, name: str, *arguments: Value) -> Value:
        """
        The result of a public function.

        Raises: StepwellError `too-deep`, `out-of-memory`, `timed-out` past a limit; `bad-bytecode` where an
        instruction is given a value of another kind; what `vm.fatal`, `vm.check` and packed functions raise.
        All name the instruction and the calls around it.
        """
        expect_arguments(self.function(name), arguments)
        return self._run(self._numbers[name], arguments)

    def call_closure(self, closure: Closure, *arguments: Value) -> Value:
        """The result of a function value of this machine. Raises: as `call`."""
        return self._run(closure.function, (*closure.captures, *arguments))

    def _run(self, number: int, arguments: Sequence[Value]) -> Value:
        call = None
        with suppress(IndexError):  # another thread may take the last one first
            call = self._idle.pop()
        call = call or self._new_call()
        try:
            return call.run(number, arguments)
        finally:
            self._idle.append(call)

    def _new_call(self) -> _Call:
        max_memory, max_instructions = self._limits
        hooks = list(self._hooks())
        memory = MemoryLimit(max_memory) if max_memory is not None else None
        hooks += [memory] if memory is not None else []
        hooks += [InstructionLimit(max_instructions)] if max_instructions is not None else []
        return _Call(link(self.program, self._tables, hooks), self.max_depth, hooks, memory)


def public_function(program: Program, numbers: Mapping[str, int], name: str) -> Function:
    """A public function by its name. Raises: StepwellError `unknown-function`."""
    number = numbers.get(name)
    if number is None or program.functions[number].signature is None:
        public = [function.name for function in program.public()]
        help = f"{did_you_mean(name, public)}the public functions are {', '.join(public) or 'none'}"
        raise StepwellError("unknown-function", None, f"there is no public function @{name}", help=help)
    return program.functions[number]


def expect_arguments(function: Function, arguments: Sequence[Value]) -> None:
    """Require an argument for each parameter. Raises: StepwellError `missing-input`."""
    if len(arguments) != function.parameters:
        message = f"@{function.name} takes {function.parameters} arguments, found {len(arguments)}"
        raise StepwellError("missing-input", None, message)


class _Call:
    """The functions as one call at a time runs them."""

    def __init__(
        self, functions: Sequence[Linked], max_depth: int, hooks: Sequence[Hooks], memory: MemoryLimit | None
    ):
        self._functions, self._max_depth, self._hooks, self._memory = functions, max_depth, hooks, memory

    def run(self, number: int, arguments: Sequence[Value]) -> Value:
        """The result of a function. Raises: StepwellError."""
        linked = self._functions[number]
        if len(arguments) != linked.function.parameters:
            message = f"a function of {linked.function.parameters} parameters gets {len(arguments)} arguments"
            raise StepwellError("bad-bytecode", f"@{linked.function.name}", message)
        stack: list[Frame] = []
        for hook in self._hooks:
            hook.start(stack)
        try:
            return self._loop(linked, [*arguments, *linked.padding], stack)
        finally:
            for hook in self._hooks:
                hook.stop()

    def _loop(self, linked: Linked, registers: Registers, stack: list[Frame]) -> Value:
        functions = self._functions
        run: Run = linked.entry
        step: object = None
        limit = min(self._max_depth + 1, _FIRST_CHECK)
        try:
            while True:
                if (walk := run.walk) is not None:
                    step = walk
                    run = walk(registers)
                else:
                    for step in run.steps:
                        step(registers)
                end = run.end
                if end == CALL:
                    callee = run.callee
                    stack.append((registers, run))
                    if len(stack) >= limit:
                        limit = self._deeper(stack)
                    registers = [*run.take(registers), *callee.padding]
                    run = callee.entry
                elif end == RETURN:
                    value = registers[run.register]
                    if not stack:
                        return value
                    registers, run = stack.pop()
                    registers[run.register] = value
                    run = run.following
                elif end == JUMP:
                    run = run.choose(registers)
                elif end == GOTO:
                    run = run.following
                elif end == TAIL_CALL:
                    callee = run.callee
                    registers, run = [*run.take(registers), *callee.padding], callee.entry
                else:
                    closure: Closure = registers[run.closure]
                    if closure.__class__ is not Closure:
                        raise wrong_kind("a function value", closure, is_last=True)
                    callee: Linked = functions[closure.function]
                    called = [*closure.captures, *run.take(registers), *callee.padding]
                    if len(called) != callee.function.registers:
                        raise _wrong_arguments(callee, len(called))
                    if end == CALL_CLOSURE:
                        stack.append((registers, run))
                        if len(stack) >= limit:
                            limit = self._deeper(stack)
                    registers, run = called, callee.entry
        except (Fault, StepwellError) as error:
            raise located(error, run, step, stack) from error.__cause__

    def _deeper(self, stack: list[Frame]) -> int:
        """
        The number of frames at which to ask again. Raises: Fault.

        Asked at depths that double, this costs nothing a call; frames may grow by as much as is left.
        """
        depth, count = len(stack), sum(len(registers) for registers, _ in stack)
        if depth > self._max_depth or count > MAX_STACK_REGISTERS:
            reached = (
                f"{count:,} registers" if depth < self._max_depth else f"max_depth = {self._max_depth:,}"
            )
            stack.pop()  # the call that fails is no call around it
            raise Fault("too-deep", f"calls nest {depth:,} deep, which reaches {reached}", is_last=True)
        if self._memory is not None:
            self._memory.measure(())
        largest = max(linked.function.registers for linked in self._functions)
        more = (MAX_STACK_REGISTERS - count) // max(1, largest)
        return min(self._max_depth + 1, depth + max(_LEAST_MORE, min(depth, more)))


def _wrong_arguments(callee: Linked, registers: int) -> Fault:
    """The error of a function value that is called with another number of arguments."""
    found = registers - len(callee.padding)
    message = f"@{callee.function.name} takes {callee.function.parameters} arguments, found {found}"
    return Fault("bad-bytecode", message, is_last=True)


def located(error: Fault | StepwellError, run: Run, step: object, stack: Sequence[Frame]) -> StepwellError:
    """An error with the location of its instruction, and the calls around it."""
    is_last = isinstance(error, Fault) and error.is_last
    pc = run.last_pc if is_last else run.pc_of(step, error)
    calls = [(run.function, pc), *((caller.function, caller.last_pc) for _, caller in reversed(stack))]
    if isinstance(error, Fault):
        made = StepwellError(error.code, None, error.message)
    else:
        made = error
    place, notes = backtrace(calls)
    made.at(place)
    for note in notes:
        made.with_note(note)
    return made
