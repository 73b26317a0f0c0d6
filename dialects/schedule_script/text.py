"""The base class of primitives, and the text of their operands and factors."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from stepwell.dialects.schedule_script.types import LOOP, STAGE, LoopType, StageType

OPEN = -1
"""The factor `?` of a split: as many as there are."""


class PrimitiveOp(IRDLOperation, ABC):
    """A step of a script."""

    @property
    def word(self) -> str:
        """The primitive's name as messages have it."""
        return self.name.partition(".")[2]


class StageStepOp(PrimitiveOp, ABC):
    """A step about one stage, without a result."""

    stage = operand_def(StageType)

    def __init__(self, stage: SSAValue):
        super().__init__(operands=[stage])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(parse_operand(parser, STAGE))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)


class ToTextOp(PrimitiveOp, ABC):
    """A step that gives a stage or loop a name, its only property: `%x to "name"`."""

    OPERAND: ClassVar[StageType | LoopType]
    TEXT: ClassVar[str]
    """The name of the property."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parse_operand(parser, cls.OPERAND)
        parser.parse_keyword("to")
        text = StringAttr(parser.parse_str_literal())
        return cls.create(operands=[operand], properties={cls.TEXT: text})

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        printer.print_string(" to ")
        printer.print_attribute(self.properties[self.TEXT])


def parse_operand(parser: Parser, type: StageType | LoopType) -> SSAValue:
    """A value of a script. Raises: ParseError."""
    return parser.resolve_operand(parser.parse_unresolved_operand(), type)


def parse_loops(parser: Parser) -> list[SSAValue]:
    """A list of loops. Raises: ParseError."""
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(name, LOOP) for name in names]


def parse_count(parser: Parser) -> int:
    """A number that an attribute can contain. Raises: ParseError."""
    at = parser.pos
    number = parser.parse_integer(allow_boolean=False)
    if not -(1 << 62) < number < 1 << 62:
        parser.raise_error(f"{number} is no number of iterations", at, parser.pos)
    return number


def parse_factors(parser: Parser) -> list[int]:
    """Factors in brackets, of which `?` is one. Raises: ParseError."""

    def factor() -> int:
        return OPEN if parser.parse_optional_punctuation("?") is not None else parse_count(parser)

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, factor)


def print_factors(printer: Printer, factors: Sequence[int]) -> None:
    """Factors in brackets."""
    with printer.in_square_brackets():
        printer.print_list(factors, lambda n: printer.print_string("?" if n == OPEN else str(n)))


def print_operands_of(printer: Printer, op: Operation) -> None:
    """The operands of an op, after a space."""
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_operand)
