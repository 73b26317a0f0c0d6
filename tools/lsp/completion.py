"""Completion in an open file: names of values, ops, attributes, passes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from stepwell.tools.lsp.document import Ask, Document, Json
from stepwell.tools.lsp.text import Span
from stepwell.tools.opt.command import command_line

_FUNCTION, _VARIABLE, _MODULE, _PROPERTY, _KEYWORD, _ENUM_MEMBER = 3, 6, 9, 10, 14, 20
_RUN = re.compile(r"^\s*//\s*RUN:")
_NAME = re.compile(r"[%^@][\w$.-]*$")
_ATTRIBUTE = re.compile(r"[#!]([\w$.-]*)$")
_WORD = re.compile(r"[\w$.-]*$")
_OPTION = re.compile(r"--[\w-]*$")
_IN_OPTIONS = re.compile(r"([\w-]+)\{[^{}]*?([\w-]*)$")
_BEGINS_OP = re.compile(r'(?:^|=|\{)\s*"?[\w$.]*$')
_OP = re.compile(r"\b([A-Za-z_]\w*\.[\w$.]+)")
_QUOTED = re.compile(r'\b(\w+)\s*=?\s*"(\w*)$')


class Candidate(NamedTuple):
    """A candidate: text, kind in the protocol, detail, and the number of characters before to replace."""

    text: str
    kind: int
    detail: str
    replaced: int


def completions(document: Document, offset: int, ask: Ask) -> list[Json]:
    """The candidates at an offset, with the range to replace."""
    start, line = document.index.lines.around(offset)
    words = _words(document, offset, line[: offset - start], ask)
    return [
        {
            "label": word.text,
            "kind": word.kind,
            "detail": word.detail,
            "textEdit": {"range": document.range(Span(offset - word.replaced, offset)), "newText": word.text},
        }
        for word in words
    ]


def _words(document: Document, offset: int, before: str, ask: Ask) -> Iterator[Candidate]:
    if _RUN.match(before):
        yield from _of_run_line(before, ask)
        return
    if before.lstrip().startswith("//"):
        return
    if name := _NAME.search(before):
        for value, line in document.index.values_at(offset):
            if value[0] == name[0][0]:
                yield Candidate(value, _VARIABLE, line, len(name[0]))
        return
    if attribute := _ATTRIBUTE.search(before):
        yield from _of_attributes(document, offset, attribute[0], ask)
        return
    if quoted := _QUOTED.search(before):
        op = _OP.search(before)
        words = cast("dict[str, list[str]]", ask("words", name=op[1])) if op else {}
        for word in words.get(quoted[1], ()):
            yield Candidate(word, _ENUM_MEMBER, "", len(quoted[2]))
        return
    yield from _of_ops(before, ask)


def _of_ops(before: str, ask: Ask) -> Iterator[Candidate]:
    word = _WORD.findall(before)[0]
    dialect, dot, _ = word.partition(".")
    if dot:
        yield from _listed(ask("ops", dialect=dialect), _FUNCTION, len(word))
    elif _BEGINS_OP.search(before):
        yield from _listed(ask("dialects"), _MODULE, len(word))
    elif op := _OP.search(before):
        for key in cast("dict[str, object]", ask("words", name=op[1])):
            yield Candidate(key, _PROPERTY, op[1], len(word))


def _of_attributes(document: Document, offset: int, written: str, ask: Ask) -> Iterator[Candidate]:
    dialect, dot, _ = written[1:].partition(".")
    if dot:
        for name, text in cast("dict[str, str]", ask("attributes", dialect=dialect)).items():
            yield Candidate(written[0] + name, _PROPERTY, text, len(written))
        return
    for name, line in document.index.values_at(offset):
        if name[0] == written[0]:
            yield Candidate(name, _VARIABLE, line, len(written))
    for name in cast("dict[str, str]", ask("dialects")):
        yield Candidate(written[0] + name, _MODULE, "", len(written))


def _of_run_line(before: str, ask: Ask) -> Iterator[Candidate]:
    if option := _OPTION.search(before):
        for name, text in command_line().arguments():
            for word in re.findall(r"--[\w-]+", name):
                yield Candidate(word, _KEYWORD, text, len(option[0]))
    elif inside := _IN_OPTIONS.search(before):
        yield from _listed(ask("options", name=inside[1]), _PROPERTY, len(inside[2]))
    elif word := re.search(r"[\w-]*$", before):
        yield from _listed(ask("passes"), _FUNCTION, len(word[0]))


def _listed(found: object, kind: int, replaced: int) -> Iterator[Candidate]:
    for name, text in cast("Mapping[str, str]", found).items():
        yield Candidate(name, kind, text, replaced)
