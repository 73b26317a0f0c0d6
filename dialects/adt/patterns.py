"""Patterns of `adt.match`: `_`, a name that is bound, a constructor or a tuple of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ANYTHING = "_"
"""The head of a pattern that fits every value."""
BOUND = "?"
"""The head of a pattern that fits every value and gives it to the case's region."""
TUPLE = "()"
"""The head of a pattern of a tuple."""


@irdl_attr_definition
class PatternAttr(ParametrizedAttribute):
    """
    A pattern of one value: a constructor or a tuple, of patterns; `_` fits all, `?` fits all and binds it.

    ```mlir
    #adt.pattern<Cons(?, (_, Nil))>
    ```
    """

    name = "adt.pattern"

    head: StringAttr = param_def()
    """`_`, `?`, `()`, or the name of a constructor."""
    fields: ArrayAttr[Attribute] = param_def()

    @staticmethod
    def of(head: str, fields: Sequence[PatternAttr] = ()) -> PatternAttr:
        """A pattern by its head and the patterns of the fields."""
        return PatternAttr(StringAttr(head), ArrayAttr(fields))

    @property
    def kind(self) -> str:
        """The head as text: `_`, `?`, `()` or a constructor."""
        return self.head.data

    @property
    def parts(self) -> Sequence[PatternAttr]:
        """The patterns of the fields."""
        return cast("Sequence[PatternAttr]", self.fields.data)

    @property
    def fits_all(self) -> bool:
        """Whether the pattern fits every value."""
        return self.kind in (ANYTHING, BOUND)

    @property
    def is_constructor(self) -> bool:
        """Whether the pattern is of a constructor."""
        return self.kind not in (ANYTHING, BOUND, TUPLE)

    def inside(self) -> Iterator[PatternAttr]:
        """The pattern and all patterns inside it, in the order of the text."""
        pending: list[PatternAttr] = [self]
        while pending:
            yield (each := pending.pop())
            pending += reversed(each.parts)

    @property
    def bound(self) -> int:
        """The number of values that the pattern binds."""
        return sum(each.kind == BOUND for each in self.inside())

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def binding() -> bool:
            return parser.parse_optional_punctuation("?") is not None

        with parser.in_angle_brackets():
            pattern = parse_pattern(parser, binding)
        return [pattern.head, pattern.fields]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_pattern(self, printer, lambda: printer.print_string("?"))

    def verify(self) -> None:
        if self.fits_all and self.fields.data:
            raise VerifyException(f"the pattern {self.kind} has no fields")


MAX_DEPTH = 64
"""The deepest nesting of a pattern's text."""


def parse_pattern(parser: AttrParser, binding: Callable[[], bool], depth: int = 0) -> PatternAttr:
    """
    Read a pattern; `binding` reads a binding, and says whether there was one.

    Raises: ParseError, also for more than `MAX_DEPTH` levels.
    """
    if depth > MAX_DEPTH:
        parser.raise_error(f"a pattern has at most {MAX_DEPTH} levels")
    if binding():
        return PatternAttr.of(BOUND)

    def part() -> PatternAttr:
        return parse_pattern(parser, binding, depth + 1)

    fields = parser.parse_optional_comma_separated_list(AttrParser.Delimiter.PAREN, part)
    if fields is not None:
        return PatternAttr.of(TUPLE, fields)
    if (head := parser.parse_optional_identifier()) is None:
        parser.raise_error("expected a pattern: `_`, `%name: type`, `Constructor(…)` or `(…)`")
    fields = parser.parse_optional_comma_separated_list(AttrParser.Delimiter.PAREN, part)
    return PatternAttr.of(head, fields or ())


def print_pattern(pattern: PatternAttr, printer: Printer, binding: Callable[[], None]) -> None:
    """Print a pattern; `binding` prints the next binding."""
    if pattern.kind == BOUND:
        binding()
        return
    if pattern.kind != TUPLE:
        printer.print_string(pattern.kind)
        if not pattern.parts:
            return
    with printer.in_parens():
        printer.print_list(pattern.parts, lambda part: print_pattern(part, printer, binding))


def parse_case(parser: Parser) -> tuple[PatternAttr, list[Parser.Argument]]:
    """Read a pattern whose bindings are `%name: type`; the pattern and the bindings, in order."""
    arguments: list[Parser.Argument] = []

    def binding() -> bool:
        argument = parser.parse_optional_argument()
        if argument is not None:
            arguments.append(argument)
        return argument is not None

    return parse_pattern(parser, binding), arguments
