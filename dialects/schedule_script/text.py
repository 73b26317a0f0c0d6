"""The base class of primitives, and the text of their operands and factors."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from stepwell.dialects.schedule_script.types import CHOICE, LOOP, STAGE, LoopType, StageType

OPEN = -1
"""The factor `?` of a split: as many as there are."""
CHOSEN = -(1 << 62)
"""The place of a factor that `sched.sample_choice` has; no text spells this number."""


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


def parse_optional_choice(parser: Parser) -> SSAValue | None:
    """A value of `sched.sample_choice`, if the text has one here. Raises: ParseError."""
    name = parser.parse_optional_unresolved_operand()
    return None if name is None else parser.resolve_operand(name, CHOICE)


def parse_factors(parser: Parser) -> list[int]:
    """Factors in brackets, of which `?` is one. Raises: ParseError."""
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_factor(parser))


def _parse_factor(parser: Parser) -> int:
    return OPEN if parser.parse_optional_punctuation("?") is not None else parse_count(parser)


def parse_sampled_factors(parser: Parser) -> tuple[list[int], list[SSAValue]]:
    """Factors in brackets, of which some may be chosen, and the values of these. Raises: ParseError."""
    chosen: list[SSAValue] = []

    def factor() -> int:
        if (choice := parse_optional_choice(parser)) is None:
            return _parse_factor(parser)
        chosen.append(choice)
        return CHOSEN

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, factor), chosen


def print_factors(printer: Printer, factors: Sequence[int], chosen: Sequence[SSAValue] = ()) -> None:
    """Factors in brackets; those that a search has chosen are values."""
    values = iter(chosen)
    with printer.in_square_brackets():
        printer.print_list(factors, lambda n: _print_factor(printer, n, values))


def _print_factor(printer: Printer, factor: int, chosen: Iterator[SSAValue]) -> None:
    if factor == CHOSEN:
        printer.print_operand(next(chosen))
    else:
        printer.print_string("?" if factor == OPEN else str(factor))


def print_operands_of(printer: Printer, op: Operation) -> None:
    """The operands of an op, after a space."""
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_operand)
