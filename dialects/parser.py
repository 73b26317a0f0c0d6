"""Text to IR: xDSL's parser with a location for every op, memoised types, errors that show their line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from math import prod
from typing import TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    ComplexType,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.parser import AttrParser, Parser, ParserState
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from stepwell.dialects._xdsl import TensorLiteralElement
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError

# A shaped type with at most one level of brackets inside, such as an encoding: what is memoised by its text.
_SHAPED_TYPE = re.compile(r"(?:tensor|memref|vector)<[^<>]*(?:<[^<>]*>[^<>]*)*>")
# What upstream says of an attribute, type or dialect, and what we say of an op.
_UNKNOWN = re.compile(r"(?:dialect )?'?([\w.]+)'? is not registered")
_UNKNOWN_OP = re.compile(r"no dialect has an op ([\w.]+)")
_UNDEFINED = re.compile(r"values? used but not defined: \[?(%[^\],\s]+)")

ParsedT = TypeVar("ParsedT")

MAX_SPLAT_ELEMS = 1 << 20
MAX_EXCERPT = 160
"""The most characters of a line that a diagnostic shows."""


class _LinearLexer(MLIRLexer):
    # Upstream's expression has a `+` below the `*`: a string that is never closed takes time exponential in
    # its length.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        # Upstream prints text beyond ASCII as escapes, and reads it back as bytes.
        if token.kind == MLIRTokenKind.BYTES_LIT and _is_text(StringLiteral.from_span(token.span)):
            return Token(MLIRTokenKind.STRING_LIT, token.span)
        return token


def _is_text(literal: StringLiteral) -> bool:
    try:
        return bool(literal.bytes_contents.decode())
    except UnicodeDecodeError:
        return False


class _BitPattern(TensorLiteralElement):
    """
    A hexadecimal element of `dense<…>`: of a float type it is the bits, which is how NaN and Inf are printed.

    Upstream reads it as the number.
    """

    def to_type(
        self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
    ) -> int | float | tuple[float, float] | tuple[int, int]:
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        size = type.compile_time_size
        bits = self.to_int(parser, allow_negative=False, allow_booleans=False)
        if bits >= 1 << (8 * size):
            parser.raise_error(f"{self.span.text} has more bits than {type}", self.span.start, self.span.end)
        return type.unpack(bits.to_bytes(size, "little"), 1)[0]


class ExactParser(Parser):
    """
    xDSL's parser, which also reads `dense<…>` with NaN or infinities as bit patterns.

    Types of several results may be in parentheses, as `linalg.generic` prints them and cannot read them.
    """

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], ParsedT], context_msg: str = ""
    ) -> list[ParsedT]:
        """The list; one of attributes without delimiters that begins with `(` is of types in parentheses."""
        if delimiter is Parser.Delimiter.NONE and parse == self.parse_attribute:
            delimiter = Parser.Delimiter.PAREN if self._current_token.text == "(" else delimiter
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def _parse_tensor_literal_element(self) -> TensorLiteralElement:
        is_pattern = self._current_token.text.startswith("0x")
        element = super()._parse_tensor_literal_element()
        return _BitPattern(element.is_negative, element.value, element.span) if is_pattern else element


class LocatingParser(ExactParser):
    """
    xDSL's parser, in which ops without `loc(…)` get their file, line and column as location.

    A shaped type is parsed once for each spelling: types are half of a graph's parsing time (889 to 359 ms
    for 2000 convolutions).
    """

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>"):
        super().__init__(ctx, "", name)
        try:
            self._parser_state = ParserState(_LinearLexer(Input(text, name)))  # reads the first token
        except ParseError as error:
            raise syntax_error(error.msg, cast("Span[str]", error.span)) from error
        self._text = text
        self._file = StringAttr(name)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._types: dict[str, TypeAttribute] = {}
        self.bound_results = 0
        """The number of values that the text names as results of the op that is being read."""

    def parse_file(self) -> ModuleOp:
        """The whole text. Raises: StepwellError `syntax`, with the line and a caret."""
        module = self._whole(self.parse_module)
        if isinstance(module.location, UnknownLoc):
            module.location = FileLineColLoc(self._file, IntAttr(1), IntAttr(1))
        return module

    def parse_only_attribute(self) -> Attribute:
        """The whole text, which is one attribute. Raises: StepwellError `syntax`, as `parse_file`."""

        def parse() -> Attribute:
            attribute = self.parse_attribute()
            if self._current_token.kind != MLIRTokenKind.EOF:
                self.raise_error("expected the end of the text after the attribute")
            return attribute

        return self._whole(parse)

    def _whole(self, parse: Callable[[], ParsedT]) -> ParsedT:
        """The result of parsing the whole text. Raises: StepwellError `syntax`, `too-large`."""
        try:
            return parse()
        except ParseError as error:
            message = error.msg
            if (unknown := _UNKNOWN.fullmatch(message)) is not None:
                message += nearest_name(self.ctx, unknown[1])
            unknown = unknown or _UNKNOWN_OP.match(message)
            help = None if unknown is None else missing_dialect(self.ctx, unknown[1])
            raise syntax_error(message, self._place_of(error), help) from error
        except RecursionError:
            message, help = "regions or attributes nest too deeply", "write inner regions as functions"
            raise StepwellError("too-large", self._file.data, message, help=help) from None
        except StepwellError:
            raise
        except Exception as error:  # whatever a type or an op makes of a text that it did not expect
            here = Span(self.pos, self.pos + 1, self.lexer.input)
            said = str(error) if isinstance(error, VerifyException) else f"{type(error).__name__}: {error}"
            raise syntax_error(said, here) from error

    def _place_of(self, error: ParseError) -> Span[str]:
        """The span of an error; the first use of an undefined value or block, which upstream reports late."""
        if isinstance(error, MultipleSpansParseError) and self.forward_block_references:
            return next(iter(self.forward_block_references.values()))[0]
        if (undefined := _UNDEFINED.match(error.msg)) is None:
            return cast("Span[str]", error.span)
        name = re.compile(rf"{re.escape(undefined[1])}(?![\w$.-])")
        used = name.search(self._text, self._first_user(undefined[1][1:])) or name.search(self._text)
        return Span(*used.span(), self.lexer.input) if used else cast("Span[str]", error.span)

    def _first_user(self, name: str) -> int:
        """The place in the text of the first op that uses an undefined value; 0 if its location says none."""
        users = (use.operation for v in self.forward_ssa_references.get(name, {}).values() for use in v.uses)
        places = (user.location for user in users)
        return min(
            (
                self._line_starts[place.line.data - 1] + place.column.data - 1
                for place in places
                if isinstance(place, FileLineColLoc) and place.filename == self._file
            ),
            default=0,
        )

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is None:
            start = self._text.rfind(name, 0, self.pos)
            message = f"no dialect has an op {name}{nearest_name(self.ctx, name)}"
            self.raise_error(message, start, start + len(name))
        return found

    def _parse_op_result_list(self) -> list[tuple[Span[str], int]]:
        names = super()._parse_op_result_list()
        self.bound_results = sum(size for _, size in names)
        return names

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            op = super().parse_operation()
        except VerifyException as error:  # an attribute that refuses its parameters
            self.raise_error(str(error), start, self.pos)
        if isinstance(op.location, UnknownLoc):
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        shaped = super()._parse_dense_literal_type()
        # A few bytes such as `dense<0> : tensor<1000000000xi8>` would be expanded, as a Python list at that.
        if (elems := prod(shaped.get_shape())) > max(MAX_SPLAT_ELEMS, len(self._text)):
            self.raise_error(f"a constant of {elems} elements is too large to be written as dense<…>")
        return shaped

    def parse_optional_type(self) -> TypeAttribute | None:
        match = _SHAPED_TYPE.match(self._text, self.pos)
        if match is None:
            return super().parse_optional_type()
        if (known := self._types.get(match.group())) is not None:
            self._resume_from(match.end())
            return known
        parsed = super().parse_optional_type()
        # Quoted brackets mislead the expression: keep only what the real parser ended at the same place.
        if parsed is not None and not self._text[match.end() : self.pos].strip():
            self._types[match.group()] = parsed
        return parsed


def parse_module(ctx: Context, text: str, name: str = "<stdin>") -> ModuleOp:
    """
    Parse a whole file; it need not be verified afterwards.

    Args: `name` is the file as diagnostics call it.
    Raises: StepwellError `syntax`, with the line and a caret.
    """
    if not text.strip():
        raise StepwellError("syntax", name, "there is nothing to read: expected IR, found no text")
    with collector_paused():
        return LocatingParser(ctx, text, name).parse_file()


def nearest_name(ctx: Context, name: str) -> str:
    """The hint for an op, attribute or type that no dialect has: `: did you mean graph.relu?`, or nothing."""
    from difflib import get_close_matches  # for an error only

    prefix = name.partition(".")[0]
    dialect = ctx.get_optional_dialect(prefix)
    if dialect is None:
        others = get_close_matches(prefix, list(ctx.registered_dialect_names), n=1, cutoff=0.8)
        name = (others[0] if others else "") + name.removeprefix(prefix)
        dialect = ctx.get_optional_dialect(name.partition(".")[0])
    known = [] if dialect is None else [found.name for found in (*dialect.operations, *dialect.attributes)]
    near = get_close_matches(name, known, n=1)
    return f": did you mean {near[0]}?" if near else ""


def missing_dialect(ctx: Context, name: str) -> str | None:
    """The help for the name of an op, attribute or type whose dialect a plugin may define."""
    from difflib import get_close_matches  # for an error only

    prefix = name.partition(".")[0]
    known = list(ctx.registered_dialect_names)
    if prefix in known or get_close_matches(prefix, known, n=1, cutoff=0.8):
        return None
    return f"if a plugin defines the dialect `{prefix}`: `--load PLUGIN.py`, or import it in Python"


def syntax_error(message: str, span: Span[str], help: str | None = None) -> StepwellError:
    """A diagnostic for a place in a text, with the line it is on and a caret below it."""
    place = span.get_location()
    start = span.input.get_start_of_line(span.start)
    line = span.input.content[start : span.input.get_end_of_line(span.start)].rstrip("\r")
    first = max(0, place.col - 1 - MAX_EXCERPT // 2)  # of a very long line only what is around the place
    shown = line[first : first + MAX_EXCERPT]
    column = place.col - 1 - first
    width = max(1, min(span.end - span.start, len(shown) - column))
    if message.startswith(" "):  # upstream has only the context
        rest = span.input.content[span.start :].strip()
        message = ("unexpected text" if rest else "unexpected end of the text") + message
    excerpt = [shown, " " * column + "^" * width]
    return StepwellError("syntax", str(place), message, excerpt=excerpt, help=help)
