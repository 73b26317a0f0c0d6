"""Parsed text with the places of its ops and values: diagnostics, types, other forms of an op."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer
from xdsl.utils.lexer import Span as ParsedSpan

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import LocatingParser
from stepwell.dialects.verify import violation_error, violations
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.tools.lsp.text import Lines, Span
from stepwell.tools.lsp.tokens import STRING
from stepwell.tools.opt.diagnostics import Expectations

MOST_DIAGNOSTICS = 100
_PLACE = re.compile(r":(\d+):(\d+)$")
_WORD = re.compile(r'[%^@#!]?[\w.$-]+|"[^"\n]*"|\S')
_CODE = re.compile(rf"(?:{STRING}|(?!//).)*")
"""A line up to its comment."""
_UNREGISTERED = re.compile(r"^// RUN:.*--allow-unreg", re.MULTILINE)


@dataclass(frozen=True)
class Diagnostic:
    """A finding at a place of a text."""

    span: Span
    code: str
    message: str
    notes: Sequence[str] = ()
    help: str = ""
    expected: bool = False
    """Whether a comment of the file expects it."""


@dataclass(frozen=True)
class Reading:
    """The findings in a text, and its values' types and nodes."""

    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    types: dict[int, str] = field(default_factory=dict[int, str])
    """The types of the values whose definition is at an offset."""
    nodes: dict[int, str] = field(default_factory=dict[int, str])
    """The nodes of the user's model, by the offset of a value that they compute."""


class RecordingParser(LocatingParser):
    """A parser that keeps the places of ops and values."""

    def __init__(self, ctx: StepwellContext, text: str, name: str):
        super().__init__(ctx, text, name)
        self.source = text
        self.ops: dict[Operation, Span] = {}
        """Each op with its span, up to the token after it."""
        self.values: dict[int, Sequence[SSAValue]] = {}
        """The values of each definition, by the offset of its name."""

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        self.ops[op] = Span(start, self.pos)
        return op

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: ParsedSpan) -> None:
        super()._register_ssa_definition(name, values, span)
        self.values[span.start] = values


def context_for(text: str) -> StepwellContext:
    """A context for a text; it accepts unknown ops where the text's `RUN` lines do."""
    return StepwellContext(allow_unregistered=_UNREGISTERED.search(text) is not None)


def read(text: str, file: str) -> Reading:
    """The findings in a text, and the types and nodes of values."""
    if not text.strip() or all(line.startswith("//") or not line for line in text.splitlines()):
        return Reading()
    lines = Lines(text)
    parser: RecordingParser | None = None
    try:
        with collector_paused():
            parser = RecordingParser(context_for(text), text, file)
            module = parser.parse_file()
        found = [(violation_error(v), _op_name(parser, v.op)) for v in violations(module)]
    except StepwellError as error:
        found = [(error, _span_of(error, lines))]
    expectations = Expectations("", ())
    try:
        expectations = Expectations.read(text, file)
    except StepwellError as error:
        found.append((error, _span_of(error, lines)))
    diagnostics = [
        _diagnostic(error, span, any(e.is_met_by(error.where, error.render()) for e in expectations.expected))
        for error, span in found[:MOST_DIAGNOSTICS]
    ]
    if parser is None:
        return Reading(diagnostics)
    types = {at: ", ".join(str(value.type) for value in values) for at, values in parser.values.items()}
    return Reading(diagnostics, types, dict(_nodes(parser)))


def _diagnostic(error: StepwellError, span: Span, expected: bool) -> Diagnostic:
    return Diagnostic(span, error.code, error.message, error.notes, error.help or "", expected)


def _nodes(parser: RecordingParser) -> Iterator[tuple[int, str]]:
    for at, values in parser.values.items():
        owner = values[0].owner if values else None
        if isinstance(owner, Operation) and not isinstance(owner.location, FileLineColLoc | UnknownLoc):
            yield at, describe_location(owner)


def _span_of(error: StepwellError, lines: Lines) -> Span:
    """The place that an error names, as wide as its carets; else the first token of the text."""
    place = _PLACE.search(error.where)
    line, column = (int(place[1]) - 1, int(place[2]) - 1) if place else (0, 0)
    start = min(lines.starts[min(line, len(lines.starts) - 1)] + column, len(lines.text))
    if len(error.excerpt) == 2 and (width := error.excerpt[1].count("^")) > 1:
        return Span(start, min(start + width, len(lines.text)))
    word = _WORD.match(lines.text, start)
    return Span(start, word.end() if word else min(start + 1, len(lines.text)))


def _op_name(parser: RecordingParser, op: Operation) -> Span:
    """The name of an op in the text."""
    start, end = parser.ops.get(op, Span(0, 0))
    name = parser.source.find(op.name, start, end)
    return Span(start, end) if name < 0 else Span(name, name + len(op.name))


class _NamedPrinter(Printer):
    """A printer with the values' names in the text."""

    def __init__(self, stream: StringIO, names: dict[SSAValue, str], *, generic: bool):
        super().__init__(stream, print_generic_format=generic)
        self.names = names

    def print_ssa_value(self, value: SSAValue) -> str:
        if (name := self.names.get(value)) is None:
            return super().print_ssa_value(value)
        self.print_string(name)
        return name.removeprefix("%")


def in_other_form(text: str, file: str, offset: int, *, generic: bool) -> tuple[Span, str] | None:
    """
    The innermost op at an offset in the generic form or in its own; None where there is none, or where the
    text names several of its results together.

    Raises: StepwellError `syntax`.
    """
    parser = RecordingParser(context_for(text), text, file)
    parser.parse_file()
    around = [(span, op) for op, span in parser.ops.items() if span.start <= offset <= span.end]
    if not around:
        return None
    span, op = min(around, key=lambda found: found[0].end - found[0].start)
    names: dict[SSAValue, str] = {}
    for at, values in parser.values.items():
        written = re.compile(r"%[\w$.-]+").match(text, at)
        for number, value in enumerate(values):
            names[value] = written.group() + (f"#{number}" if len(values) > 1 else "") if written else ""
    if any("#" in names.get(result, "") for result in op.results):
        return None
    stream = StringIO()
    _NamedPrinter(stream, names, generic=generic).print_op(op)
    indent = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, span.start) + 1)
    printed = stream.getvalue().replace("\n", "\n" + (indent.group() if indent else ""))
    return Span(span.start, _end_of(text, span)), printed


def _end_of(text: str, span: Span) -> int:
    """The end of the last line of an op, without the spaces and comments that come before the next token."""
    end = span.end
    while end > span.start:
        start = max(text.rfind("\n", 0, end) + 1, span.start)
        code = _CODE.match(text, start, end)
        if code is not None and (kept := code.group().rstrip()):
            return start + len(kept)
        end = start - 1
    return span.end
