"""Whether a program can have native functions: each register has one kind of value at each read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from stepwell.runtime.vm.flow import ENDS
from stepwell.runtime.vm.instructions import Outputs, registers_read, registers_written, targets_of
from stepwell.runtime.vm.native_abi import MAX_FIELDS, TAG_BITS
from stepwell.runtime.vm.native_tables import thunks_of
from stepwell.runtime.vm.program import Function, Program

MAX_THUNKS = 1 << 16
_INTEGERS = ("get_tag", "load_consti")
_ON_INTEGERS = ("move", "switch", "kill")
SUPPORTED = frozenset(
    (
        *("move", "kill", "load_const", "load_consti", "get_tag", "get_field"),
        *("alloc_adt", "alloc_closure", "new_ref", "read_ref", "write_ref", "invoke_packed"),
        *("goto", "if", "switch", "ret", "fatal", "check"),
        *("invoke", "invoke_closure", "tail_invoke", "tail_invoke_closure"),
    )
)
"""The instructions that `NativeFunction` has code for."""


class Problem(NamedTuple):
    """Why a program has no native functions."""

    function: str
    """The name of the function at fault; empty for the program as a whole."""
    message: str

    def __str__(self) -> str:
        return f"@{self.function}: {self.message}" if self.function else self.message


def native_problem(program: Program) -> Problem | None:
    """Why a program has no native functions; None when it can have them."""
    for function in program.functions:
        if message := next(_problems(function), ""):
            return Problem(function.name, message)
    message = _whole_problem(program)
    return Problem("", message) if message else None


def _whole_problem(program: Program) -> str:
    fields = [len(each.fields) for data in program.data for each in data.constructors]
    if max(fields, default=0) > MAX_FIELDS:
        return f"a constructor has {max(fields)} fields, more than {MAX_FIELDS}"
    tags = max((len(data.constructors) for data in program.data), default=0)
    if len(program.data) >= 1 << TAG_BITS - 1 or tags > 1 << TAG_BITS:
        return "there are too many data types or constructors"
    if len(thunks_of(program)) > MAX_THUNKS:
        return f"there are {len(thunks_of(program)):,} kinds of function values"
    return ""


def _problems(function: Function) -> Iterator[str]:
    integers, others = kinds_before(function)
    for pc, (name, operands) in enumerate(function.code):
        read = registers_read(name, operands)
        if name not in SUPPORTED:
            yield f"vm.{name}"
        if isinstance(operands[-1], Outputs) and operands[-1].are_given:
            yield f"vm.{name} into given tensors"
        if any(integers[pc] >> register & 1 for register in read):
            if name not in _ON_INTEGERS:
                yield f"vm.{name} of a machine integer"
            elif any(others[pc] >> register & 1 for register in read):
                yield f"vm.{name} of a register that has a machine integer on some paths only"
        elif name == "switch":
            yield "vm.switch of what is no machine integer"
        if len(read) > MAX_FIELDS and name != "invoke_packed":
            yield f"vm.{name} of more than {MAX_FIELDS} values"


def kinds_before(function: Function) -> tuple[list[int], list[int]]:
    """
    The registers that can contain machine integers before each instruction, and those that can contain other
    values, as bits.

    Forward data flow; a register that was never written has neither.
    """
    count = len(function.code)
    integers, others = [0] * (count + 1), [0] * (count + 1)
    others[0] = (1 << function.parameters) - 1
    waiting, seen = [0], {0}
    while waiting:
        pc = waiting.pop()
        name, operands = function.code[pc]
        written = 0
        for register in registers_written(name, operands):
            written |= 1 << register
        may_be = name in _INTEGERS, name not in _INTEGERS
        if name == "move":
            source = cast(int, operands[1])
            may_be = bool(integers[pc] >> source & 1), bool(others[pc] >> source & 1)
        after = [
            state[pc] & ~written | (written if may else 0)
            for state, may in zip((integers, others), may_be, strict=True)
        ]
        for target in targets_of(name, operands) if name in ENDS else (pc + 1,):
            before = integers[target], others[target]
            integers[target] |= after[0]
            others[target] |= after[1]
            if target not in seen or before != (integers[target], others[target]):
                seen.add(target)
                waiting.append(target)
    return integers, others


def written_integers(function: Function) -> int:
    """The registers that instructions write machine integers to, as bits; moves are not among them."""
    bits = 0
    for name, operands in function.code:
        if name in _INTEGERS:
            bits |= 1 << cast(int, operands[0])
    return bits
