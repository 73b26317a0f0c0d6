"""Actions at a place of an open file: quick fixes, other forms of an op, lenses above lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from stepwell.tools.lsp.document import Ask, Document, Json
from stepwell.tools.lsp.text import Span

_NEAREST = re.compile(r"did you mean ([\w.$-]+)\?")
_OP = re.compile(r'(?:^|=)\s*("?)([A-Za-z_]\w*\.[\w$.]+)\1(?=[\s(]|$)', re.MULTILINE)
_FUNC = ("func.func", "func")
LEVELS = ("linalg", "loops", "asm")


def code_actions(document: Document, offset: int, diagnostics: list[Json]) -> list[Json]:
    """The actions at an offset, and for the diagnostics there."""
    found = [action for diagnostic in diagnostics for action in _fixes(document, diagnostic)]
    found += _forms(document, offset)
    title = "Take the pass apart: run one pass, show the difference"
    found.append(_command(title, "refactor.rewrite", "stepwell.runPass", document, offset))
    return found


def _fixes(document: Document, diagnostic: Json) -> Iterator[Json]:
    """The nearest name, and a comment that expects the error."""
    message = str(diagnostic["message"])
    first = message.partition("\n")[0]
    places = cast("dict[str, object]", diagnostic["range"])
    start, end = document.offset(places["start"]), document.offset(places["end"])
    if nearest := _NEAREST.search(message):
        edit = document.edit([(Span(start, end), nearest[1])])
        yield _edit(f"Write {nearest[1]}", "quickfix", edit, diagnostic)
    begin, line = document.index.lines.around(start)
    indent = line[: len(line) - len(line.lstrip())]
    comment = f"{indent}// expected-error: {first}\n"
    edit = document.edit([(Span(begin, begin), comment)])
    yield _edit("Add expected-error for --verify-diagnostics", "quickfix", edit, diagnostic)


def _forms(document: Document, offset: int) -> Iterator[Json]:
    """The op of a line in its other form."""
    if op := _op_of_line(document, offset):
        to = "custom" if op[1] else "generic"
        title = f"Write {op[2]} in the {to} form"
        yield _command(title, "refactor.rewrite", "stepwell.changeForm", document, op.start(2), to)


def _op_of_line(document: Document, offset: int) -> re.Match[str] | None:
    """The op whose name is in the line of an offset."""
    start, line = document.index.lines.around(offset)
    return _OP.search(document.index.text, start, start + len(line))


def _edit(title: str, kind: str, edit: Json, diagnostic: Json) -> Json:
    return {"title": title, "kind": kind, "edit": edit, "diagnostics": [diagnostic]}


def _command(title: str, kind: str, name: str, document: Document, offset: int, *more: object) -> Json:
    line = document.index.lines.place(offset).line
    command = {"title": title, "command": name, "arguments": [document.uri, line, *more]}
    return {"title": title, "kind": kind, "command": command}


def other_form(document: Document, line: int, to: str, ask: Ask) -> Json | None:
    """The edit that writes the op of a line in the `generic` or the `custom` form; None where none can."""
    start = document.index.lines.starts[line]
    op = _op_of_line(document, start)
    part = document.index.part_at(start)
    offset = (op.start(2) if op else start) - part.span.start
    arguments = {"file": str(document.path), "offset": offset, "generic": to == "generic"}
    found = cast("tuple[tuple[int, int], str] | None", ask("form", document.text_of(part), **arguments))
    if found is None:
        return None
    (begin, end), text = found
    return document.edit([(Span(begin + part.span.start, end + part.span.start), text)])


def code_lenses(document: Document) -> list[Json]:
    """Above `// RUN:` lines: run; above functions: the levels that they can be lowered to."""
    found = [_lens(document, line.span.start, "Run", "stepwell.runTest") for line in document.run_lines()]
    for part in document.index.parts:
        for piece in part.pieces:
            for definition in piece.scan.named_parts.definitions:
                if definition.kind == "symbol" and definition.detail in _FUNC and definition.body is not None:
                    offset = piece.start + definition.span.start
                    found += [
                        _lens(document, offset, f"Lower to {level}", "stepwell.emit", level)
                        for level in LEVELS
                    ]
    return found


def _lens(document: Document, offset: int, title: str, command: str, *more: object) -> Json:
    line = document.index.lines.place(offset).line
    arguments = [document.uri, line, *more]
    return {
        "range": document.range(Span(document.index.lines.starts[line], offset)),
        "command": {"title": title, "command": command, "arguments": arguments},
    }
