"""
A block of lines of a file as events: names that are defined or used, braces; by its tokens alone.

An expression over the text finds names, braces and what hides them (strings, comments); nothing else of the
syntax matters to names. The first tokens after a brace decide whether it opens a region or a dictionary.
What an event is follows from its statement alone, and a line that begins with results begins a statement.
So a text can be cut before such a line, and after a change the blocks of other lines remain as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

from stepwell.tools.lsp.text import Span
from stepwell.tools.lsp.tokens import COMMENT, STRING, SUFFIX, SYMBOL

Action = Literal["define", "pend", "use", "function", "region", "dictionary", "close"]

BLOCK_CHARACTERS = 4096
"""The least length of a block that is cut off from more text."""
_RESULTS = rf"%{SUFFIX}(?::\d+)?(?:\s*,\s*%{SUFFIX}(?::\d+)?)*\s*=(?!=)"
# Each alternative begins with a character of its own, by which `re` skips all other text.
_TOKEN = re.compile(
    rf"%{SUFFIX}(?:\#\d+)?|\{{|\}}|\n[ \t]*(?:{_RESULTS}|\^{SUFFIX}(?=\s*[(:])|[\#!]{SUFFIX}\s*=(?!=))|"
    rf"\^{SUFFIX}|{SYMBOL}|\#{SUFFIX}|!{SUFFIX}|{STRING}|{COMMENT}"
)
_CUT = re.compile(rf"(?<=[^\s=,]\n)[ \t]*{_RESULTS}(?!\s*%)")
"""The beginning of a line with results; nothing in the lines before looks at it."""
_NAME = re.compile(rf"[%^#!]{SUFFIX}")
_BINDS = re.compile(r"\s*=(?!=)\s*(\S[\w$.]*)")
_BEFORE_TYPE = frozenset((" :", " =", "  ", " \t", " \n"))
_HAS_TYPE = re.compile(r"\s*:(?!:)")
# After the brace of a dictionary: a key and `=`, `,` or `:`, or a lone key on the same line.
_DICTIONARY = re.compile(rf"\s*(?:\}}|#|(?:[\w$.]+|{STRING})\s*[=,:]|[ \t]*(?:[\w$.]+|{STRING})[ \t]*\}})")
_OP_NAME = re.compile(
    r'(?:^|[\s=({])([A-Za-z_]\w*(?:\.[\w$.]+)?)\s*(?:"?(?:private|public|nested|external|internal|constant)"?\s*)*$'
)
_DEFINES = re.compile(r"(?:^|\.)(?:func|module|global|function|global_memory_bank)$|(?:^|\.)(?:rule|pattern)")
_MOST_BEFORE = 200
"""How many characters before a symbol decide whether an op defines it."""
_SYMBOL_NAME = re.compile(r"\bsym_name\s*=\s*$")


class Event(NamedTuple):
    """
    A name or a brace in a block.

    A name that is pending is defined by the next region of its statement: a function's arguments, a loop's
    variables. `function` opens the region of a symbol.
    """

    start: int
    """The offset in the block."""
    action: Action
    name: str
    """With its first character; empty for a brace."""
    length: int
    statement: int
    """Counted from 0 in the block."""
    detail: str
    """The op of a symbol that is defined."""


class Block:
    """The events of a block of lines, in the order of the text."""

    def __init__(self, text: str):
        self.text = text
        self.events: list[Event] = []
        self.statements = 0
        """How many statements have begun."""
        self._is_function = False
        self._label_end = -1
        self._open: list[bool] = []
        """The braces that this statement has opened and not closed: whether each opens a region."""
        self._run()

    def _run(self) -> None:
        # A line break first: what begins a line is found by it.
        text = "\n" + self.text
        for match in _TOKEN.finditer(text):
            token, start = match.group(), match.start() - 1
            first = token[0]
            if first == "%":
                self._value(token, start)
            elif first == "{":
                self._brace(start)
            elif first == "}":
                self._add(start, "close", "", 1)
                if not self._open or self._open.pop():
                    self._new_statement()
            elif first == "\n":
                self._begin_line(token, start)
            elif first == "@":
                self._symbol(token, start)
            elif first == '"':
                self._named(token, start)
            elif first in "^#!" and not (first != "^" and "." in token):
                self._add(start, "use", token, len(token))

    def _add(self, start: int, action: Action, name: str, length: int, detail: str = "") -> None:
        self.events.append(Event(start, action, name, length, self.statements, detail))

    def _new_statement(self) -> None:
        self.statements += 1
        self._is_function = False

    def _begin_line(self, token: str, start: int) -> None:
        """Results of an op, a label, or an alias at the beginning of a line."""
        end = start + len(token)
        is_result = token[-1] == "="
        if is_result and "," not in token and ":" not in token:  # as of most ops
            name = token[1:-1].strip()
            names = [(name, start + token.index(name))]
        else:
            names = [(m.group(), start + m.start()) for m in _NAME.finditer(token)]
        # Of an argument list over several lines.
        is_pending = is_result and self.text[end : end + 80].lstrip()[:1] == "%"
        if not is_pending:
            self._new_statement()
            if is_result and names[0][0][0] == "%":
                self._open.clear()
        for name, begin in names:
            self._add(begin, "pend" if is_pending else "define", name, len(name))
        if not is_pending and names[0][0][0] == "^":
            end = self.text.find("\n", end)
            self._label_end = end if end >= 0 else len(self.text)

    def _value(self, token: str, start: int) -> None:
        name = token.partition("#")[0] if "#" in token else token
        end = start + len(token)
        following = self.text[end : end + 2]
        action: Action = "use"
        # Of most uses this alone is seen, without the expressions below.
        if (following[:1] in ":=" or following in _BEFORE_TYPE) and len(token) == len(name):
            if ":" not in following and (binds := _BINDS.match(self.text, end)) is not None:
                action = "pend"
                if "." in binds[1] and binds[1][0].isalpha() or binds[1][0] == '"':
                    self._new_statement()
                    action = "define"
            elif start < self._label_end or self._is_function:
                if _HAS_TYPE.match(self.text, end) is not None:
                    action = "define" if start < self._label_end else "pend"
        self._add(start, action, name, len(name))

    def _symbol(self, token: str, start: int) -> None:
        begin = max(0, start - _MOST_BEFORE)  # of a program in one line, not all of it for each symbol
        line = self.text[max(begin, self.text.rfind("\n", begin, start) + 1) : start]
        op = _OP_NAME.search(line)
        if op is None or "=" in line or _DEFINES.search(op[1]) is None:
            self._add(start, "use", token, len(token))
            return
        self._new_statement()
        self._add(start, "define", token, len(token), op[1])
        self._is_function = True

    def _named(self, token: str, start: int) -> None:
        """The symbol that an op in the generic form defines: `sym_name = "f"`."""
        if _SYMBOL_NAME.search(self.text, max(0, start - 20), start) is not None:
            self._add(start, "define", f"@{token[1:-1]}", len(token))

    def _brace(self, start: int) -> None:
        if _DICTIONARY.match(self.text, start + 1):
            self._open.append(False)
            self._add(start, "dictionary", "", 1)
            return
        self._open.append(True)
        self._add(start, "function" if self._is_function else "region", "", 1)
        self._new_statement()

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Event]]:
        """The events of each name; those of braces have none."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.name, []).append(event)
        return found

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [event.start for event in self.events]

    def name_at(self, offset: int) -> Event | None:
        """The event of the name at an offset, or of the one that ends there."""
        for position in range(bisect_right(self._starts, offset) - 1, -1, -1):
            event = self.events[position]
            if event.name:
                return event if offset <= event.start + event.length else None
        return None

    @cached_property
    def pairs(self) -> Sequence[tuple[Event, Event]]:
        """The braces that are opened and closed here, in the order of the closing ones."""
        return list(_matched(self.by_name.get("", ())))

    @cached_property
    def outer_braces(self) -> Sequence[Event]:
        """The braces whose other one is in another block, or missing."""
        inner = {brace.start for pair in self.pairs for brace in pair}
        return [brace for brace in self.by_name.get("", ()) if brace.start not in inner]

    @cached_property
    def _braces(self) -> Sequence[Event]:
        """The braces without those of dictionaries that are closed here: no scope follows from them."""
        pairs = (pair for pair in self.pairs if pair[0].action == "dictionary")
        without = {brace.start for pair in pairs for brace in pair}
        return [brace for brace in self.by_name.get("", ()) if brace.start not in without]

    def events_of(self, names: Iterable[str]) -> Sequence[Event]:
        """The events from which the scopes and definitions of some names follow."""
        found = [self.by_name[name] for name in names if name in self.by_name]
        return sorted(chain(self._braces, *found)) if found else self.outer_braces

    @cached_property
    def scope_events(self) -> Sequence[Event]:
        """The events from which all scopes and definitions follow: scopes without names too."""
        return sorted(chain(self._braces, *(events for name, events in self.by_name.items() if name)))


def _matched(braces: Iterable[Event]) -> Iterator[tuple[Event, Event]]:
    open_braces: list[Event] = []
    for brace in braces:
        if brace.action != "close":
            open_braces.append(brace)
        elif open_braces:
            yield open_braces.pop(), brace


def blocks_of(text: str, known: Sequence[Block] = ()) -> list[Block]:
    """
    The blocks of a text.

    Args: `known` are the blocks of an earlier text; those of lines that have not changed are taken over.
    """
    first = start = 0
    while first < len(known) and text.startswith(known[first].text, start):
        start += len(known[first].text)
        first += 1
    while first and not _may_cut(text, start):
        first -= 1
        start -= len(known[first].text)
    last, end = len(known), len(text)
    while last > first and text.endswith(known[last - 1].text, start, end):
        last -= 1
        end -= len(known[last].text)
    while last < len(known) and not _may_cut(text, end):
        end += len(known[last].text)
        last += 1
    made = [Block(text[span.start : span.end]) for span in _cuts(text, Span(start, end))]
    return [*known[:first], *made, *known[last:]]


def _may_cut(text: str, offset: int) -> bool:
    return offset == len(text) or _CUT.match(text, offset) is not None


def _cuts(text: str, span: Span) -> Iterator[Span]:
    start = span.start
    while span.end - start >= 2 * BLOCK_CHARACTERS:
        found = _CUT.search(text, start + BLOCK_CHARACTERS, span.end)
        if found is None:
            break
        yield Span(start, found.start())
        start = found.start()
    if start < span.end:
        yield Span(start, span.end)
