"""
Frequent runs of instructions, each compiled to one Python function, together with the runs that its jumps
lead to, up to calls and returns.

A step of `steps.py` costs a call, and reads registers from a list; in one function an instruction costs a
third of that. The function's text consists of numbers and of names made here, never of text from the
bytecode. An instruction with unexpected operands is left to its step, which raises the error.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from types import FunctionType, TracebackType
from typing import ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from stepwell.runtime.addresses import ELEMENTS_AT
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.fixed_call import FixedCall
from stepwell.runtime.vm.array_calls import UNFIT, ArrayCalls, references_when_free
from stepwell.runtime.vm.instructions import ConstructorOf, Outputs, registers_written
from stepwell.runtime.vm.objects import TUPLE_TAG, Closure, Registers, Step
from stepwell.runtime.vm.program import Code
from stepwell.runtime.vm.steps import Tables, host_fault, truth
from stepwell.runtime.vm.tensors import TensorCheck, TensorType

R = TypeVar("R")


class Block(NamedTuple, Generic[R]):
    """The instructions of a run with numbers and steps, and its end with the targets of the jump."""

    rows: Sequence[tuple[int, Code]]
    steps: Sequence[Step]
    end: Code
    last_pc: int
    targets: Sequence[R]


OFTEN = 50
"""The runs after which a function is made, which takes as long as 1,000 steps (0.2 ms)."""


_MOST_KEPT_BYTES = 1 << 16
"""The largest output that is used again: two arrays stay for each in the text."""
_MOST_ROWS = 200
"""The most instructions of a function; runs that two jumps lead to count twice."""


class HotRun(Generic[R]):
    """
    The function of a run, and the numbers of the instructions at its lines.

    Args: `run` is the first run, `block` gives the contents of a run, `leave` makes a run that goes on at
    another one.
    """

    def __init__(
        self, run: R, block: Callable[[R], Block[R] | None], leave: Callable[[R], R], tables: Tables
    ):
        self._tables, self._block, self._leave = tables, block, leave
        self._names: dict[str, object] = {"nd": np.ndarray, "empty": np.empty, "Error": StepwellError}
        self._names["at"] = ctypes.c_void_p.from_address
        self._names |= {"truth": truth, "refs": sys.getrefcount}
        self._lines, self._pcs = ["def run(r):"], [-1]
        self._indent, self._pc, self._rows = "    ", -1, 0
        self._known: dict[int, str] = {}
        """The local variables that have the values of registers."""
        self._tuples: set[str] = set()
        """The local variables that are known to be data or tuples."""
        self._integers: set[str] = set()
        """The local variables that are known to be machine integers."""
        self._add_run(run, ())
        exec("\n".join(self._lines), self._names)
        self.step = cast("Callable[[Registers], R]", self._names["run"])
        """The function, on the registers of a frame; it returns the run whose end is reached."""

    def _add(self, lines: Sequence[str]) -> None:
        self._lines += [self._indent + line for line in lines]
        self._pcs += [self._pc] * len(lines)

    def _add_run(self, run: R, before: tuple[R, ...]) -> None:
        """The lines of a run, with the targets of its jump inside. Args: `before` are the runs around."""
        block = self._block(run)
        too_many = block is not None and self._rows + len(block.rows) > _MOST_ROWS
        if block is None or run in before or (before and too_many):
            self._add([f"return {self._name(self._leave(run), 'u')}"])
            return
        self._rows += len(block.rows)
        for (self._pc, each), self._step in zip(block.rows, block.steps, strict=True):
            lines = writer(self, *each.operands) if (writer := self._writers.get(each.name)) else None
            if lines is None:
                lines = [self._by_step()]
                self._forget(registers_written(*each))
            self._add(lines)
        self._pc = block.last_pc
        self._add_end(run, block, (*before, run))

    def _add_end(self, run: R, block: Block[R], before: tuple[R, ...]) -> None:
        """The lines of a run's end: the jump; for a call or return the run itself as the result."""
        name, targets = block.end.name, block.targets
        tests: list[str] = []
        if name == "if":
            condition, lines = self._read(cast(int, block.end.operands[0]))
            self._add(lines)
            tests = [f"truth({condition}, is_last=False)"]
        elif name == "switch" and self._known.get(tag := cast(int, block.end.operands[0])) in self._integers:
            tests = [f"{self._known[tag]} == {number}" for number in range(len(targets))]
        elif name != "goto":
            self._add([f"return {self._name(run, 'u')}"])
            return
        for test, target in zip(tests, targets, strict=False):
            self._add([f"if {test}:"])
            known, tuples, integers = dict(self._known), set(self._tuples), set(self._integers)
            self._indent += "    "
            self._add_run(target, before)
            self._indent = self._indent[4:]
            self._known, self._tuples, self._integers = known, tuples, integers
            self._pc = block.last_pc
        if name == "switch":
            self._add([f"return {self._name(run, 'u')}"])  # whose end says what is wrong
        else:
            self._add_run(targets[-1], before)

    def pc_of(self, error: BaseException) -> int:
        """The number of the instruction that raised an error."""
        code = cast(FunctionType, self.step).__code__
        trace: TracebackType | None = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not code:
            trace = trace.tb_next
        return self._pcs[trace.tb_lineno - 1] if trace is not None else self._pcs[1]

    def _name(self, value: object, kind: str) -> str:
        """A name for an object in the text."""
        name = f"{kind}{len(self._names)}"
        self._names[name] = value
        return name

    def _by_step(self) -> str:
        """The call of the instruction's step."""
        return f"{self._name(self._step, 's')}(r)"

    def _forget(self, registers: Sequence[int]) -> None:
        for register in registers:
            self._known.pop(register, None)

    def _read(self, register: int) -> tuple[str, list[str]]:
        """The local variable of a register, and the lines that fill it."""
        if register in self._known:
            return self._known[register], []
        name = self._known[register] = f"v{len(self._lines)}_{register}"
        return name, [f"{name} = r[{register}]"]

    def _reads(self, registers: Sequence[int]) -> tuple[list[str], list[str]]:
        pairs = [self._read(register) for register in registers]
        return [name for name, _ in pairs], [line for _, lines in pairs for line in lines]

    def _write(self, register: int, value: str, *, is_tuple: bool = False) -> str:
        """The line that gives a register a value."""
        name = self._known[register] = f"w{len(self._lines)}_{register}"
        if is_tuple:
            self._tuples.add(name)
        return f"r[{register}] = {name} = {value}"

    # The instructions.

    def _move(self, to: int, value: int) -> list[str]:
        name, lines = self._read(value)
        self._known[to] = name
        return [*lines, f"r[{to}] = {name}"]

    def _load_const(self, to: int, constant: int) -> list[str]:
        return [self._write(to, self._name(self._tables.constants[constant], "c"))]

    def _load_consti(self, to: int, value: int) -> list[str]:
        line = self._write(to, str(int(value)))
        self._integers.add(self._known[to])
        return [line]

    def _kill(self, register: int) -> list[str]:
        self._forget([register])
        return [f"r[{register}] = None"]

    def _get_tag(self, to: int, value: int) -> list[str]:
        name, lines = self._read(value)
        lines += self._expect_tuple(name)
        lines += [self._write(to, f"{name}[0].tag")]
        self._integers.add(self._known[to])
        return lines

    def _get_field(self, to: int, value: int, index: int) -> list[str]:
        name, lines = self._read(value)
        lines += [f"if {name}.__class__ is not tuple or len({name}) <= {index + 1}: {self._by_step()}"]
        self._tuples.add(name)
        return [*lines, self._write(to, f"{name}[{index + 1}]")]

    def _expect_tuple(self, name: str) -> list[str]:
        if name in self._tuples:
            return []
        self._tuples.add(name)
        return [f"if {name}.__class__ is not tuple: {self._by_step()}"]

    def _alloc_adt(self, to: int, constructor: ConstructorOf, fields: Sequence[int]) -> list[str]:
        names, lines = self._reads(fields)
        tag = TUPLE_TAG if constructor.data < 0 else self._tables.tags[constructor.data][constructor.tag]
        values = ", ".join([self._name(tag, "t"), *names])
        return [*lines, self._write(to, f"({values},)", is_tuple=True)]

    def _alloc_closure(self, to: int, callee: int, captures: Sequence[int]) -> list[str]:
        names, lines = self._reads(captures)
        values = "".join(f"{name}, " for name in names)
        return [*lines, self._write(to, f"{self._name(Closure, 't')}({int(callee)}, ({values}))")]

    def _invoke_packed(self, callee: int, arguments: Sequence[int], outputs: Outputs) -> list[str] | None:
        """A call of a segment written out: outputs, addresses, the code."""
        packed, function = self._tables.packed[callee]
        check = TensorCheck(packed)
        declared = [(type.shape, type.dtype) for type in check.outputs]
        if not isinstance(function, FixedCall) or ELEMENTS_AT is None or outputs.are_given:
            return None
        if function.outputs != declared or not check.is_fixed or len(set(outputs.registers)) != len(declared):
            return None
        names, lines = self._reads(arguments)
        made = [f"o{len(self._lines)}_{number}" for number in range(len(declared))]
        if (calls := self._tables.array_calls) is not None:
            called = self._called_on_arrays(calls, function, check.inputs, names, made)
            return [*lines, *self._with_faults(packed.name, called, outputs.registers, made)]
        tests = [
            f"{name}.__class__ is nd and {name}.dtype is {self._name(type.dtype, 'd')}"
            f" and {name}.shape == {self._name(type.shape, 'z')} and {name}.flags.c_contiguous"
            for name, type in dict(zip(names, check.inputs, strict=True)).items()
        ]
        called = self._called(function, names, made)
        return [
            *lines,
            f"status = 0 if {' and '.join(tests) or 'True'} else {UNFIT}",
            *self._with_faults(
                packed.name, ["if status == 0:", *(f"    {each}" for each in called)], outputs.registers, made
            ),
        ]

    def _with_faults(
        self, name: str, called: Sequence[str], registers: Sequence[int], made: Sequence[str]
    ) -> list[str]:
        """
        The lines around a call's own lines, which set `status`: errors of other kinds become the host's, and
        unfit arguments are left to the step.
        """
        pairs = list(zip(registers, made, strict=True))
        self._known |= dict(pairs)
        fault = self._name(partial(host_fault, name), "e")
        return [
            "try:",
            *(f"    {line}" for line in called),
            "except Error: raise",
            f"except Exception as error: raise {fault}(error) from error",
            f"if status == {UNFIT}:",
            f"    {self._by_step()}",
            *(f"    {name} = r[{to}]" for to, name in pairs),
            *(["else: " + "; ".join(f"r[{to}] = {name}" for to, name in pairs)] if pairs else []),
        ]

    def _called_on_arrays(
        self,
        calls: ArrayCalls,
        function: FixedCall,
        inputs: Sequence[TensorType],
        arguments: Sequence[str],
        outputs: Sequence[str],
    ) -> list[str]:
        """The lines of a call by native code, which checks the arguments."""
        plans, plan = self._name([], "p"), self._name(partial(calls.plan, function, inputs), "n")
        call, of = self._name(calls.call, "m"), self._name(function, "k")
        kept, memory = self._kept_memory(function, outputs)
        forget = "".join(f"; {each}[:] = (None, None)" for each in kept)
        return [
            f"try: plan = {plans}.pop()",
            f"except IndexError: plan = {plan}()",
            *memory,
            f"values = ({', '.join([*arguments, *outputs])},)",
            f"if (status := {call}(plan[0], id(values))) == 0: {plans}.append(plan)",
            f"elif status == {UNFIT}: {plans}.append(plan){forget}",
            f"else: raise {of}.failure(status, plan[1])",
        ]

    def _kept_memory(
        self, function: FixedCall, outputs: Sequence[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """
        The names of the lists of small outputs, and the lines that allocate all outputs.

        Small outputs are used again once nothing else refers to them: a fifth of an allocation's time.
        """
        free = references_when_free()
        kept: list[str] = []
        lines: list[str] = []
        for name, line, (shape, dtype) in zip(
            outputs, self._memory(function, outputs), function.outputs, strict=True
        ):
            if free is None or prod(shape) * dtype.itemsize > _MOST_KEPT_BYTES:
                lines.append(line)
                continue
            kept.append(each := self._name([None, None], "a"))
            lines += [
                f"{name} = {each}[0]",
                f"if refs({name}) != {free}:",
                f"    {name} = {each}[1]",
                f"    if refs({name}) != {free}:",
                f"        {each}[1] = {each}[0]",
                f"        {line}",
                f"        {each}[0] = {name}",
            ]
        return kept, lines

    def _memory(self, function: FixedCall, outputs: Sequence[str]) -> list[str]:
        """The lines that allocate outputs."""
        return [
            f"{name} = empty({self._name(shape, 'z')}, {self._name(dtype, 'd')})"
            for name, (shape, dtype) in zip(outputs, function.outputs, strict=True)
        ]

    def _called(self, function: FixedCall, arguments: Sequence[str], outputs: Sequence[str]) -> list[str]:
        """The lines of `FixedCall.__call__` for arrays without gaps."""
        frames, of = self._name(function.frames, "f"), self._name(function, "k")
        main = self._name(function.main, "m")
        every = [*arguments, *outputs]
        addresses = ", ".join(f"at(id({name}) + {ELEMENTS_AT}).value" for name in every)
        return [
            f"try: frame = {frames}.pop()",
            f"except IndexError: frame = {of}.new_frame()",
            *self._memory(function, outputs),
            f"frame.args[:{len(every)}] = [{addresses}]",
            f"if (status := {main}(*frame.addresses)) != 0: raise {of}.failure(status, frame)",
            f"{frames}.append(frame)",
        ]

    _writers: ClassVar[Mapping[str, Callable[..., list[str] | None]]] = {
        "move": _move,
        "load_const": _load_const,
        "load_consti": _load_consti,
        "kill": _kill,
        "get_tag": _get_tag,
        "get_field": _get_field,
        "alloc_adt": _alloc_adt,
        "alloc_closure": _alloc_closure,
        "invoke_packed": _invoke_packed,
    }
    """The lines of instructions; None from a method where the step does it."""
