"""An observer of calls that prints instructions as they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from stepwell.runtime.vm.instructions import (
    FIELDS,
    INSTRUCTIONS,
    Kind,
    Outputs,
    registers_read,
    registers_written,
)
from stepwell.runtime.vm.limits import NoHooks
from stepwell.runtime.vm.linked import Frame
from stepwell.runtime.vm.objects import Registers, Step, described
from stepwell.runtime.vm.program import Code, Function, Program


class InstructionPrinter(NoHooks):
    """
    An observer that prints each instruction that runs, with shapes and tags of operands and results.

    Args: `write` gets lines; `most` is their number (None: all).
    """

    def __init__(self, program: Program, write: Callable[[str], object] = print, most: int | None = None):
        self._program, self._write, self._most = program, write, most
        self._printed = 0

    def start(self, stack: Sequence[Frame]) -> None:
        """Count lines from 0."""
        self._printed = 0

    def before(self, function: Function, pc: int) -> Step:
        """Print the instruction with what it reads."""
        code = function.code[pc]
        text = f"@{function.name} {pc}: {instruction_text(code, self._program)}"
        read = registers_read(*code)

        def step(r: Registers) -> None:
            self._printed += 1
            if self._most is None or self._printed <= self._most:
                self._write(f"{text}{_shown('reads', read, r)}")

        return step

    def after(self, function: Function, pc: int) -> Step | None:
        """Print what an instruction wrote."""
        written = registers_written(*function.code[pc])
        if not written:
            return None

        def step(r: Registers) -> None:
            if self._most is None or self._printed <= self._most:
                self._write(f"   {_shown('writes', written, r)}")

        return step


def _shown(verb: str, registers: Sequence[int], values: Registers) -> str:
    parts = (f"r{register} = {described(values[register])}" for register in dict.fromkeys(registers))
    return f"  ; {verb} {', '.join(parts)}" if registers else ""


def instruction_text(code: Code, program: Program) -> str:
    """An instruction as the `vm` dialect prints it, with numbers of instructions in place of blocks."""
    operands = dict(zip((field.name for field in FIELDS[code.name]), code.operands, strict=True))
    parts = (
        part if isinstance(part, str) else _operand_text(part.kind, operands[part.name], program)
        for part in INSTRUCTIONS[code.name].parts
    )
    return f"{code.name} {''.join(parts)}"


def _operand_text(kind: Kind, value: object, program: Program) -> str:
    match kind, value:
        case _, Outputs():
            return f"{'into' if value.are_given else '->'} ({_registers(value.registers)})"
        case Kind.DEF | Kind.USE, _:
            return f"r{value}"
        case Kind.USES, tuple():
            return _registers(cast("tuple[int, ...]", value))
        case Kind.FUNCTION, int():
            return f"@{program.functions[value].name}"
        case Kind.PACKED, int():
            return f"@{program.packed[value].name}"
        case Kind.CONSTANT, _:
            return f"#{value}"
        case Kind.CONSTRUCTOR, (int(data), int(tag)):
            known = program.data[data] if data >= 0 else None
            return "tuple" if known is None else f"@{known.name}::@{known.constructors[tag].name}"
        case Kind.TARGETS, tuple():
            return ", ".join(map(str, cast("tuple[int, ...]", value)))
        case Kind.STRING, _:
            return repr(value)
        case _:
            return str(value)


def _registers(numbers: Sequence[int]) -> str:
    return ", ".join(f"r{number}" for number in numbers)
