"""
The table of instructions: name, opcode, text, meaning. Parser, printer, encoder, decoder, verifier and the
page of instructions are made from it.

The text of an instruction is a template of literals and fields: `{to:def}, {value:use}` reads `r1, r0`. The
order of its fields is the order of its operands in a program and in bytecode.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import NamedTuple


class Kind(Enum):
    """The kind of an operand: its text, and in brackets the value in a program."""

    DEF = "def"
    """A register that is written: `r1` (its number)."""
    USE = "use"
    """A register that is read: `r1` (its number)."""
    USES = "uses"
    """Registers that are read: `r1, r2` (a tuple of numbers)."""
    OUTPUTS = "outputs"
    """Results: `-> (r1, r2)`, or tensors to write to: `into (r5)` (an `Outputs`)."""
    FUNCTION = "function"
    """A function: `@length` (its number)."""
    PACKED = "packed"
    """A segment or host function: `@length_0` (its number)."""
    CONSTRUCTOR = "constructor"
    """A constructor, `@List::@Cons`, or `tuple` (a `ConstructorOf`)."""
    CONSTANT = "constant"
    """A row of the table of constants: `#3` (its number)."""
    INTEGER = "integer"
    """A signed 64-bit number."""
    SIZE = "size"
    """A number that is not negative."""
    STRING = "string"
    """A quoted text."""
    TYPE = "type"
    """The type of a tensor with known sizes: `tensor<4xf32>` (a `Type`)."""
    ELEMENT = "element"
    """An element type: `f32` (the numpy name)."""
    TARGET = "target"
    """A block: `^bb1` (the number of its first instruction)."""
    TARGETS = "targets"
    """Blocks: `^bb1, ^bb2` (a tuple of numbers)."""


class Field(NamedTuple):
    """An operand of an instruction."""

    name: str
    kind: Kind


class Outputs(NamedTuple):
    """The results of a packed function: registers to write, or tensors that they are written into."""

    registers: tuple[int, ...]
    are_given: bool
    """Whether the registers contain the tensors, as in `into (r5)`."""


class ConstructorOf(NamedTuple):
    """A constructor of a program: the numbers of its data type and of itself in it."""

    data: int
    tag: int


TUPLE = ConstructorOf(-1, 0)
"""The constructor of tuples, which belong to no data type."""


class Instruction(NamedTuple):
    """A row of the table."""

    name: str
    opcode: int
    text: str
    """The template of its operands' text."""
    meaning: str
    is_terminator: bool

    @property
    def parts(self) -> tuple[str | Field, ...]:
        """The template in pieces: literals and fields."""
        return _parts(self.text)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The operands, in order."""
        return tuple(part for part in self.parts if isinstance(part, Field))


_FIELD = re.compile(r"\{(\w+):(\w+)\}")


@cache
def _parts(text: str) -> tuple[str | Field, ...]:
    parts: list[str | Field] = []
    end = 0
    for match in _FIELD.finditer(text):
        if literal := text[end : match.start()]:
            parts.append(literal)
        parts.append(Field(match[1], Kind(match[2])))
        end = match.end()
    return (*parts, text[end:]) if end < len(text) else tuple(parts)


# name, opcode, text, meaning; the opcodes up to 20 are those of Relay's machine.
_ROWS = (
    ("move", 0, "{to:def}, {value:use}", "copies a register"),
    ("ret", 1, "{value:use}", "ends the function with its result"),
    ("invoke", 2, "{to:def}, {callee:function}({arguments:uses})", "calls a function"),
    (
        "invoke_closure",
        3,
        "{to:def}, {closure:use}({arguments:uses})",
        "calls a function value: its captures are the first arguments",
    ),
    (
        "invoke_packed",
        4,
        "{callee:packed}({arguments:uses}) {outputs:outputs}",
        "calls a segment, kernel or host function on tensors",
    ),
    (
        "alloc_tensor",
        5,
        "{to:def}, {storage:use} [{offset:size}] : {type:type}",
        "makes a tensor of known sizes in storage, from a byte on",
    ),
    (
        "alloc_tensor_reg",
        6,
        "{to:def}, {storage:use} [{offset:size}], {shape:use} : {element:element}",
        "makes a tensor in storage whose sizes a register has",
    ),
    (
        "alloc_adt",
        7,
        "{to:def}, {constructor:constructor}({fields:uses})",
        "makes a value of a data type, or a tuple",
    ),
    (
        "alloc_closure",
        8,
        "{to:def}, {callee:function}({captures:uses})",
        "makes a function value from a function and its first arguments",
    ),
    ("get_field", 9, "{to:def}, {value:use} [{index:size}]", "reads a field of a data value or tuple"),
    (
        "if",
        10,
        "{condition:use}, {then:target}, {otherwise:target}",
        "goes on at the first block where a bool scalar is true, else at the second",
    ),
    ("load_const", 11, "{to:def}, {constant:constant}", "reads the table of constants"),
    ("goto", 12, "{target:target}", "goes on at another block"),
    ("get_tag", 13, "{to:def}, {value:use}", "reads a data value's tag: the position of its constructor"),
    ("load_consti", 14, "{to:def}, {value:integer}", "makes a machine integer"),
    ("fatal", 15, "{code:string}, {message:string}", "ends the program with an error"),
    ("alloc_storage", 16, "{to:def}, {size:use} align {alignment:size}", "allocates memory of so many bytes"),
    ("shape_of", 17, "{to:def}, {value:use}", "makes a tensor of a tensor's sizes, of i64"),
    ("reshape_tensor", 18, "{to:def}, {value:use}, {shape:use}", "gives a tensor the sizes of a register"),
    (
        "device_copy",
        19,
        "{to:def}, {value:use} device {device:size}",
        "copies a tensor; device 0 is the host",
    ),
    ("kill", 20, "{value:use}", "empties a register after its last use"),
    ("tail_invoke", 21, "{callee:function}({arguments:uses})", "calls a function in place of this one"),
    (
        "tail_invoke_closure",
        22,
        "{closure:use}({arguments:uses})",
        "calls a function value in place of this function",
    ),
    ("switch", 23, "{tag:use}, [{targets:targets}]", "goes on at the block of an integer's position"),
    ("new_ref", 24, "{to:def}, {value:use}", "makes a cell"),
    ("read_ref", 25, "{to:def}, {cell:use}", "reads a cell"),
    ("write_ref", 26, "{cell:use}, {value:use}", "writes a cell"),
    (
        "check",
        27,
        "{condition:use}, {code:string}, {message:string}",
        "ends the program with an error unless a bool scalar is true",
    ),
)
_TERMINATORS = frozenset(("ret", "if", "goto", "fatal", "tail_invoke", "tail_invoke_closure", "switch"))

INSTRUCTIONS: dict[str, Instruction] = {
    name: Instruction(name, opcode, text, meaning, name in _TERMINATORS)
    for name, opcode, text, meaning in _ROWS
}
"""The instructions by name, in the order of their opcodes."""

FIELDS: dict[str, tuple[Field, ...]] = {name: row.fields for name, row in INSTRUCTIONS.items()}
"""The operands of each instruction."""


def registers_read(name: str, operands: tuple[object, ...]) -> list[int]:
    """The registers that an instruction reads, in the order of its text."""
    found: list[int] = []
    for field, value in zip(FIELDS[name], operands, strict=True):
        if field.kind is Kind.USE and isinstance(value, int):
            found.append(value)
        elif field.kind is Kind.USES and isinstance(value, tuple):
            found += value
        elif isinstance(value, Outputs) and value.are_given:
            found += value.registers
    return found


def registers_written(name: str, operands: tuple[object, ...]) -> list[int]:
    """The registers that an instruction writes, in the order of its text."""
    found: list[int] = []
    for field, value in zip(FIELDS[name], operands, strict=True):
        if field.kind is Kind.DEF and isinstance(value, int):
            found.append(value)
        elif isinstance(value, Outputs) and not value.are_given:
            found += value.registers
    return found


def targets_of(name: str, operands: tuple[object, ...]) -> list[int]:
    """The instructions by number at which an instruction may go on, besides the next one."""
    found: list[int] = []
    for field, value in zip(FIELDS[name], operands, strict=True):
        if field.kind is Kind.TARGET and isinstance(value, int):
            found.append(value)
        elif field.kind is Kind.TARGETS and isinstance(value, tuple):
            found += value
    return found
