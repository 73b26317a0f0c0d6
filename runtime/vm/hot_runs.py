"""
Runs of instructions that run often, as one Python function each, made of text.

A step of `steps.py` costs a call, and reads registers from a list; in one function an instruction costs a
third of that. Text is made of numbers and of names that are made here, never of what bytecode says. An
instruction whose operands are not as expected is left to its step, which says what is wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType, TracebackType
from typing import ClassVar, cast

import numpy as np

from stepwell.runtime.addresses import ELEMENTS_AT
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.fixed_call import FixedCall
from stepwell.runtime.vm.instructions import ConstructorOf, Outputs, registers_written
from stepwell.runtime.vm.objects import TUPLE_TAG, Step
from stepwell.runtime.vm.program import Code
from stepwell.runtime.vm.steps import Tables, host_fault
from stepwell.runtime.vm.tensors import TensorCheck

OFTEN = 50
"""The runs after which a function is made, which takes as long as 1,000 steps (0.2 ms)."""


class HotRun:
    """The function of a run, and the numbers of the instructions at its lines."""

    def __init__(self, code: Sequence[tuple[int, Code]], steps: Sequence[Step], tables: Tables):
        """Args: `code` has the instructions with their numbers, and `steps` the step of each."""
        self._tables = tables
        self._names: dict[str, object] = {"nd": np.ndarray, "empty": np.empty, "Error": StepwellError}
        self._names["at"] = ctypes.c_void_p.from_address
        self._lines, self._pcs = ["def run(r):"], [-1]
        self._known: dict[int, str] = {}
        """The local variables that have the values of registers."""
        self._tuples: set[str] = set()
        """The local variables that are known to be data or tuples."""
        for (pc, each), step in zip(code, steps, strict=True):
            self._step = step
            lines = writer(self, *each.operands) if (writer := self._writers.get(each.name)) else None
            if lines is None:
                lines = [self._by_step()]
                self._forget(registers_written(*each))
            self._lines += [f"    {line}" for line in lines]
            self._pcs += [pc] * len(lines)
        exec("\n".join(self._lines), self._names)
        self.step = cast("Step", self._names["run"])
        """The function, on the registers of a frame."""

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
        return [self._write(to, str(int(value)))]

    def _kill(self, register: int) -> list[str]:
        self._forget([register])
        return [f"r[{register}] = None"]

    def _get_tag(self, to: int, value: int) -> list[str]:
        name, lines = self._read(value)
        lines += self._expect_tuple(name)
        return [*lines, self._write(to, f"{name}[0].tag")]

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
        tests = [
            f"{name}.__class__ is nd and {name}.dtype is {self._name(type.dtype, 'd')}"
            f" and {name}.shape == {self._name(type.shape, 'z')} and {name}.flags.c_contiguous"
            for name, type in dict(zip(names, check.inputs, strict=True)).items()
        ]
        made = [f"o{len(self._lines)}_{number}" for number in range(len(declared))]
        called = self._called(function, names, made)
        pairs = list(zip(outputs.registers, made, strict=True))
        self._known |= dict(pairs)
        fault = self._name(partial(host_fault, packed.name), "e")
        return [
            *lines,
            f"if {' and '.join(tests) or 'True'}:",
            "    try:",
            *(f"        {line}" for line in called),
            "    except Error: raise",
            f"    except Exception as error: raise {fault}(error) from error",
            *(f"    r[{to}] = {name}" for to, name in pairs),
            "else:",
            f"    {self._by_step()}",
            *(f"    {name} = r[{to}]" for to, name in pairs),
        ]

    def _called(self, function: FixedCall, arguments: Sequence[str], outputs: Sequence[str]) -> list[str]:
        """The lines of `FixedCall.__call__` for arrays without gaps."""
        frames, of = self._name(function.frames, "f"), self._name(function, "k")
        main = self._name(function.main, "m")
        memory = [
            f"{name} = empty({self._name(shape, 'z')}, {self._name(dtype, 'd')})"
            for name, (shape, dtype) in zip(outputs, function.outputs, strict=True)
        ]
        every = [*arguments, *outputs]
        addresses = ", ".join(f"at(id({name}) + {ELEMENTS_AT}).value" for name in every)
        return [
            f"try: frame = {frames}.pop()",
            f"except IndexError: frame = {of}.new_frame()",
            *memory,
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
        "invoke_packed": _invoke_packed,
    }
    """The lines of instructions; None from a method where the step does it."""
