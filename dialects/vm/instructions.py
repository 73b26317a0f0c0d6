"""
The ops of instructions, made from the table in `stepwell.runtime.vm.instructions`.

An instruction has neither operands nor results: registers are attributes, blocks are successors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, traits_def, var_successor_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import resume_at
from stepwell.runtime.vm.instructions import INSTRUCTIONS, Field, Instruction, Kind

GIVEN = "outputs_are_given"
"""The property that says `into (…)` in place of `-> (…)`."""
MAX_NUMBER = (1 << 63) - 1
_REGISTER = re.compile(r"r(0|[1-9]\d{0,5})")
_HASH_NUMBER = re.compile(r"\s*#(\d{1,9})\b")
_TOKEN = re.compile(r"->|\w+|[^\s\w]")
_BLOCKS = (Kind.TARGET, Kind.TARGETS)

_REGISTERS = (Kind.DEF, Kind.USE, Kind.USES, Kind.OUTPUTS)


class InstructionOp(IRDLOperation):
    """An instruction of the machine."""

    INSTRUCTION: ClassVar[Instruction]
    """The row of the table."""

    @property
    def register_fields(self) -> Sequence[Field]:
        """The operands that are registers, in the order of the text."""
        return [field for field in self.INSTRUCTION.fields if field.kind in _REGISTERS]

    @property
    def registers_read(self) -> list[int]:
        """The registers that the instruction reads, in the order of its text."""
        return [n for field in self.register_fields if not self._writes(field) for n in self._numbers(field)]

    @property
    def registers_written(self) -> list[int]:
        """The registers that the instruction writes, in the order of its text."""
        return [n for field in self.register_fields if self._writes(field) for n in self._numbers(field)]

    def _writes(self, field: Field) -> bool:
        return field.kind is Kind.DEF or (field.kind is Kind.OUTPUTS and GIVEN not in self.properties)

    def _numbers(self, field: Field) -> Sequence[int]:
        return numbers_of(self.properties[field.name])

    @classmethod
    def of(cls, properties: Mapping[str, Attribute], targets: Sequence[Block] = ()) -> Self:
        """An instruction of operands by name, and of blocks."""
        return cls.create(properties=properties, successors=targets)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        targets: list[Block] = []
        for part in cls.INSTRUCTION.parts:
            if isinstance(part, Field):
                _parse_field(parser, part, properties, targets)
            else:
                for token in _TOKEN.findall(part):
                    parser.parse_characters(token)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties=properties, successors=targets, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        targets = iter(self.successors)
        for part in self.INSTRUCTION.parts:
            if not isinstance(part, Field):
                printer.print_string(part)
            elif part.kind is Kind.TARGET:
                printer.print_block_name(next(targets))
            elif part.kind is Kind.TARGETS:
                printer.print_list(self.successors, printer.print_block_name)
            else:
                _print_field(printer, part, self.properties)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        """Constraints: numbers are in range, one block for each target."""
        singles = 0
        for field in self.INSTRUCTION.fields:
            value = self.properties.get(field.name)
            numbers = numbers_of(value)
            if field.kind is not Kind.INTEGER and any(n < 0 for n in numbers):
                raise VerifyException(f"{field.name} must not be negative, found {min(numbers)}")
            if field.kind is Kind.TYPE and not cast("TensorType[Attribute]", value).has_static_shape():
                raise VerifyException(f"{field.name} must have known sizes, found {value}")
            singles += field.kind is Kind.TARGET
        if not any(field.kind is Kind.TARGETS for field in self.INSTRUCTION.fields):
            if len(self.successors) != singles:
                raise VerifyException(f"expected {singles} blocks, found {len(self.successors)}")
        elif not self.successors:
            raise VerifyException("expected at least one block")


def numbers_of(value: Attribute | None) -> Sequence[int]:
    """The registers, index or size that an attribute contains."""
    if isinstance(value, IntegerAttr):
        return (value.value.data,)
    if isinstance(value, DenseArrayBase):
        return cast("Sequence[int]", value.get_values())
    return ()


def number(value: int) -> IntegerAttr:
    """A register, index or size as an attribute."""
    return IntegerAttr(value, i64)


def registers(values: Sequence[int]) -> DenseArrayBase:
    """A list of registers as an attribute."""
    return DenseArrayBase.from_list(i64, list(values))


def parse_register(parser: Parser) -> int:
    """A register. Raises: ParseError."""
    start = parser.pos
    found = _REGISTER.fullmatch(name := parser.parse_identifier("a register such as r0"))
    if found is None:
        parser.raise_error(f"expected a register such as r0, found {name}", start, parser.pos)
    return int(found[1])


def parse_hash_number(parser: Parser) -> int:
    """A row of the table of constants, `#3`, which MLIR's lexer takes for an alias. Raises: ParseError."""
    text = parser.lexer.input.content
    if (found := _HASH_NUMBER.match(text, parser.pos)) is None:
        parser.raise_error("expected a constant's number such as #0")
    resume_at(parser, found.end())
    return int(found[1])


def _parse_registers(parser: Parser) -> list[int]:
    if not _REGISTER.match(parser.lexer.input.content, parser.pos):
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_register(parser))


def _parse_outputs(parser: Parser, properties: dict[str, Attribute]) -> Attribute:
    if parser.parse_optional_keyword("into") is not None:
        properties[GIVEN] = UnitAttr()
    else:
        parser.parse_punctuation("->", " or `into`")
    with parser.in_parens():
        return registers(_parse_registers(parser))


def _parse_symbol(parser: Parser) -> Attribute:
    symbol = parser.parse_attribute()
    if not isinstance(symbol, SymbolRefAttr):
        parser.raise_error(f"expected a symbol such as @f, found {symbol}")
    return symbol


def _parse_number(parser: Parser, *, is_signed: bool) -> Attribute:
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False, allow_negative=is_signed)
    if not -MAX_NUMBER - 1 <= value <= MAX_NUMBER:
        parser.raise_error(f"{value} has more than 64 bits", start, start + 1)
    return number(value)


_READERS: Mapping[Kind, Callable[[Parser], Attribute]] = {
    Kind.DEF: lambda parser: number(parse_register(parser)),
    Kind.USE: lambda parser: number(parse_register(parser)),
    Kind.USES: lambda parser: registers(_parse_registers(parser)),
    Kind.FUNCTION: _parse_symbol,
    Kind.PACKED: _parse_symbol,
    Kind.CONSTANT: lambda parser: number(parse_hash_number(parser)),
    Kind.INTEGER: lambda parser: _parse_number(parser, is_signed=True),
    Kind.SIZE: lambda parser: _parse_number(parser, is_signed=False),
    Kind.STRING: lambda parser: StringAttr(parser.parse_str_literal()),
    Kind.TYPE: lambda parser: parser.parse_type(),
    Kind.ELEMENT: lambda parser: parser.parse_type(),
}


def _parse_field(
    parser: Parser, field: Field, properties: dict[str, Attribute], targets: list[Block]
) -> None:
    if field.kind is Kind.TARGET:
        targets.append(parser.parse_successor())
    elif field.kind is Kind.TARGETS:
        targets += parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_successor)
    elif field.kind is Kind.OUTPUTS:
        properties[field.name] = _parse_outputs(parser, properties)
    elif field.kind is not Kind.CONSTRUCTOR:
        properties[field.name] = _READERS[field.kind](parser)
    elif parser.parse_optional_keyword("tuple") is None:
        properties[field.name] = _parse_symbol(parser)


def _print_field(printer: Printer, field: Field, properties: Mapping[str, Attribute]) -> None:
    value = properties.get(field.name)
    numbers = numbers_of(value)
    shown = ", ".join(f"r{n}" for n in numbers)
    if field.kind is Kind.OUTPUTS:
        printer.print_string(f"{'into' if GIVEN in properties else '->'} ({shown})")
    elif field.kind in (Kind.DEF, Kind.USE, Kind.USES):
        printer.print_string(shown)
    elif value is None:
        printer.print_string("tuple")
    elif numbers:
        printer.print_string(f"{'#' if field.kind is Kind.CONSTANT else ''}{numbers[0]}")
    else:
        printer.print_attribute(value)


_PROPERTIES: Mapping[Kind, type[Attribute]] = {
    Kind.STRING: StringAttr,
    Kind.FUNCTION: SymbolRefAttr,
    Kind.PACKED: SymbolRefAttr,
    Kind.TYPE: TensorType,
    Kind.ELEMENT: Attribute,
    Kind.USES: DenseArrayBase,
    Kind.OUTPUTS: DenseArrayBase,
}


def _op_of(row: Instruction) -> type[InstructionOp]:
    """The op class of an instruction."""
    body: dict[str, object] = {
        "__module__": __name__,
        "__doc__": _docstring(row),
        "name": f"vm.{row.name}",
        "targets": var_successor_def(),
    }
    for field in row.fields:
        if field.kind is Kind.CONSTRUCTOR:
            body[field.name] = opt_prop_def(SymbolRefAttr)
        elif field.kind not in _BLOCKS:
            body[field.name] = prop_def(_PROPERTIES.get(field.kind, IntegerAttr))
        if field.kind is Kind.OUTPUTS:
            body[GIVEN] = opt_prop_def(UnitAttr)
    if row.is_terminator:
        body["traits"] = traits_def(IsTerminator())
    name = "".join(part.capitalize() for part in row.name.split("_")) + "Op"
    made = irdl_op_definition(cast("type[InstructionOp]", type(name, (InstructionOp,), body)))
    made.INSTRUCTION = row
    return made


_SAMPLES: Mapping[Kind, str] = {
    Kind.DEF: "r1",
    Kind.USE: "r0",
    Kind.USES: "r2, r3",
    Kind.OUTPUTS: "-> (r1)",
    Kind.FUNCTION: "@f",
    Kind.PACKED: "@f_0",
    Kind.CONSTRUCTOR: "@List::@Cons",
    Kind.CONSTANT: "#0",
    Kind.INTEGER: "7",
    Kind.SIZE: "64",
    Kind.STRING: '"…"',
    Kind.TYPE: "tensor<4xf32>",
    Kind.ELEMENT: "f32",
    Kind.TARGET: "^bb1",
    Kind.TARGETS: "^bb1, ^bb2",
}


_SAMPLES_BY_NAME = {"index": "1", "offset": "0", "device": "0", "otherwise": "^bb2", "shape": "r2"}


def sample(row: Instruction) -> str:
    """The text of an instruction with operands made up, as documentation shows it."""
    parts = (
        _SAMPLES_BY_NAME.get(part.name, _SAMPLES[part.kind]) if isinstance(part, Field) else part
        for part in row.parts
    )
    return f"vm.{row.name} {''.join(parts)}"


def _docstring(row: Instruction) -> str:
    meaning = row.meaning[0].upper() + row.meaning[1:]
    return f"{meaning}.\n\n```mlir\n{sample(row)} // …\n```"


OPS: Mapping[str, type[InstructionOp]] = {name: _op_of(row) for name, row in INSTRUCTIONS.items()}
"""The op classes by the name of their instruction."""
