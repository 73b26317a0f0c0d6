"""An open file: the index of names and the results of the parser, in the terms of the protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, cast
from urllib.parse import unquote, urlparse

from stepwell.tools.lsp.index import Index, Part, Symbol
from stepwell.tools.lsp.text import Span

Json: TypeAlias = dict[str, object]
MAX_PARSED_BYTES = 5_000_000
"""Larger files have an index of names alone."""
_ERROR, _HINT, _INFORMATION = 1, 4, 3
_MODULE, _FUNCTION, _KEY, _CONSTANT = 2, 12, 20, 14
_RUN = re.compile(r"^\s*//\s*RUN:\s*(.*?)\s*$", re.MULTILINE)


class Ask(Protocol):
    """A question to a worker process; its requests are in `worker.py`. Raises: RequestError."""

    def __call__(self, what: str, text: str = "", **values: object) -> object: ...


@dataclass(frozen=True)
class RunLine:
    """A `// RUN:` line: the span and the command."""

    span: Span
    command: str


class Document:
    """A file that is open in the editor."""

    def __init__(self, uri: str, text: str, encoding: str = "utf-16"):
        self.uri = uri
        self.path = Path(unquote(urlparse(uri).path) or "untitled.mlir")
        self.index = Index(text, None, encoding)
        self.readings: dict[str, Json] = {}
        """What the parser made of a part, by its text."""
        self.failures: list[tuple[Span, str]] = []

    def update(self, text: str) -> None:
        """Take over a new text."""
        self.index = Index(text, self.index, self.index.lines.encoding)
        self.failures.clear()

    @property
    def is_too_large(self) -> bool:
        """Whether the file is not parsed."""
        return len(self.index.text) > MAX_PARSED_BYTES

    def text_of(self, part: Part) -> str:
        """The text of a part."""
        return self.index.text[part.span.start : part.span.end]

    def unread(self) -> list[Part]:
        """The parts that have not been parsed as they are now."""
        known = {self.text_of(part) for part in self.index.parts}
        self.readings = {text: reading for text, reading in self.readings.items() if text in known}
        if self.is_too_large:
            return []
        return [part for part in self.index.parts if self.text_of(part) not in self.readings]

    def offset(self, position: object) -> int:
        """The offset of a position of the protocol."""
        place = cast("dict[str, int]", position)
        return self.index.lines.offset(place["line"], place["character"])

    def range(self, span: Span) -> Json:
        """A span as the protocol writes it."""
        places = [self.index.lines.place(offset) for offset in span]
        start, end = ({"line": place.line, "character": place.character} for place in places)
        return {"start": start, "end": end}

    def location(self, span: Span) -> Json:
        """A span of this file as the protocol writes it."""
        return {"uri": self.uri, "range": self.range(span)}

    def run_lines(self) -> Iterator[RunLine]:
        """The `// RUN:` lines of the file."""
        return (RunLine(Span(*match.span()), match[1]) for match in _RUN.finditer(self.index.text))

    def fail(self, line: int, message: str) -> None:
        """Note what a test has found at a line, until the text changes."""
        start = self.index.lines.starts[min(line, len(self.index.lines.starts) - 1)]
        self.failures.append((Span(start, start + len(self.index.lines.around(start)[1])), message))

    def diagnostics(self) -> list[Json]:
        """The findings of the parser, in parts that have not changed since, and of tests."""
        found = [self._diagnostic(span, _ERROR, "check-failed", text) for span, text in self.failures]
        if self.is_too_large:
            message = f"larger than {MAX_PARSED_BYTES // 1_000_000} MB: not parsed, names alone are known"
            found.append(self._diagnostic(Span(0, 0), _INFORMATION, "too-large", message))
        for part in self.index.parts:
            reading = self.readings.get(self.text_of(part), {})
            for finding in cast("list[Json]", reading.get("diagnostics", [])):
                start, end = cast("tuple[int, int]", finding["span"])
                span = Span(start + part.span.start, end + part.span.start)
                notes = [f"note: {note}" for note in cast("list[str]", finding["notes"])]
                help = [f"help: {finding['help']}"] if finding["help"] else []
                severity = _HINT if finding["expected"] else _ERROR
                message = "\n".join([str(finding["message"]), *notes, *help])
                found.append(self._diagnostic(span, severity, str(finding["code"]), message))
        return found

    def _diagnostic(self, span: Span, severity: int, code: str, message: str) -> Json:
        return {
            "range": self.range(span),
            "severity": severity,
            "code": code,
            "source": "stepwell",
            "message": message,
        }

    def fact_at(self, offset: int, kind: str) -> str:
        """The type of the value defined at an offset (`types`), or its node (`nodes`); else empty."""
        part = self.index.part_at(offset)
        facts = self.readings.get(self.text_of(part), {}).get(kind, {})
        return cast("dict[str, str]", facts).get(str(offset - part.span.start), "")

    def outline(self) -> list[Json]:
        """The symbols of the file."""
        return [self._symbol(symbol) for symbol in self.index.outline()]

    def _symbol(self, symbol: Symbol) -> Json:
        kinds = {"@": _FUNCTION, "^": _KEY, "#": _CONSTANT, "!": _CONSTANT}
        return {
            "name": symbol.name,
            "detail": symbol.detail,
            "kind": kinds.get(symbol.name[0], _MODULE),
            "range": self.range(symbol.span),
            "selectionRange": self.range(symbol.name_span),
            "children": [self._symbol(child) for child in symbol.children],
        }

    def folds(self) -> list[Json]:
        """The ranges that can be folded."""
        lines = [[self.index.lines.place(offset).line for offset in span] for span in self.index.folds()]
        return [{"startLine": start, "endLine": end} for start, end in lines if start < end]

    def edit(self, edits: Sequence[tuple[Span, str]]) -> Json:
        """Replacements in this file as the protocol writes them."""
        changes = [{"range": self.range(span), "newText": text} for span, text in edits]
        return {"changes": {self.uri: changes}}
