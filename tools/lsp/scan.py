"""
A piece of a file as definitions and uses of names, by its tokens alone: it need not parse.

An expression over the text finds names, braces and what hides them (strings, comments); nothing else of the
syntax matters to names. The first tokens after a brace decide whether it opens a region or a dictionary.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from stepwell.tools.lsp.text import Span
from stepwell.tools.lsp.tokens import COMMENT, STRING, SUFFIX, SYMBOL

Kind = Literal["value", "block", "symbol", "alias"]

_RESULTS = rf"%{SUFFIX}(?::\d+)?(?:\s*,\s*%{SUFFIX}(?::\d+)?)*\s*=(?!=)"
# Each alternative begins with a character of its own, by which `re` skips all other text.
_TOKEN = re.compile(
    rf"%{SUFFIX}(?:\#\d+)?|\{{|\}}|\n[ \t]*(?:{_RESULTS}|\^{SUFFIX}(?=\s*[(:])|[\#!]{SUFFIX}\s*=(?!=))|"
    rf"\^{SUFFIX}|{SYMBOL}|\#{SUFFIX}|!{SUFFIX}|{STRING}|{COMMENT}"
)
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


@dataclass(eq=False, slots=True)
class Scope:
    """A region, or a piece as a whole: the names that are defined in it."""

    start: int
    parent: Scope | None
    isolated: bool
    end: int
    names: dict[str, Definition] = field(default_factory=dict["str", "Definition"])

    def find(self, name: str) -> Definition | None:
        """The definition that a name has here; values are not seen from inside of functions."""
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.names.get(name)) is not None:
                return found
            scope = None if scope.isolated and name[0] in "%^" else scope.parent
        return None


@dataclass(eq=False, slots=True)
class Definition:
    """A name that is defined: its text with the first character, the span, the uses."""

    name: str
    span: Span
    scope: Scope
    detail: str = ""
    """The op of a symbol."""
    body: Scope | None = None
    """The region of a symbol."""
    uses: list[int] = field(default_factory=list[int])
    """Where each use begins."""

    @property
    def spans(self) -> list[Span]:
        """The spans of the name: its definition, then its uses."""
        return [self.span, *(Span(start, start + len(self.name)) for start in self.uses)]

    @property
    def kind(self) -> Kind:
        """The kind of the name."""
        kinds: dict[str, Kind] = {"%": "value", "^": "block", "@": "symbol"}
        return kinds.get(self.name[0], "alias")


class Scan:
    """The definitions, uses and braces of a piece of a file; offsets are those of its text."""

    def __init__(self, text: str):
        self.text = text
        self.root = Scope(0, None, True, len(text))
        self.definitions: list[Definition] = []
        self.braces: list[Span] = []
        self.unopened: list[int] = []
        """Closing braces without an opening one."""
        self.scopes = [self.root]
        """In the order in which they begin."""
        self.unknown: list[tuple[str, Span]] = []
        """The names that are used and not defined anywhere."""
        self.open: list[tuple[int, Scope | None]] = []
        """The braces that are not closed, each with the scope around it; None before a dictionary."""
        self._scope = self.root
        self._pending: list[tuple[str, Span]] = []
        """Names that the next region of the op defines: a function's arguments, a loop's variables."""
        self._unseen: list[tuple[str, Span, Scope]] = []
        """Uses before a definition."""
        self._statement = 0
        """The number of unseen uses before this statement."""
        self._function: Definition | None = None
        self._label_end = -1
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
                self._close(start)
            elif first == "\n":
                self._begin_line(token, start)
            elif first == "@":
                self._symbol(token, start)
            elif first == '"':
                self._named(token, start)
            elif first in "^#!" and not (first != "^" and "." in token):
                self._use(token, start)
        for name, span, scope in self._unseen:
            if (found := scope.find(name)) is not None:
                found.uses.append(span.start)
            else:
                self.unknown.append((name, span))

    def _begin_line(self, token: str, start: int) -> None:
        """Results of an op, a label, or an alias at the beginning of a line."""
        end = start + len(token)
        is_result = token[-1] == "="
        if is_result and "," not in token and ":" not in token:  # as of most ops
            name = token[1:-1].strip()
            begin = start + token.index(name)
            names = [(name, Span(begin, begin + len(name)))]
        else:
            names = [(m.group(), Span(start + m.start(), start + m.end())) for m in _NAME.finditer(token)]
        if is_result and self.text[end : end + 80].lstrip()[:1] == "%":
            self._pending += names  # of an argument list over several lines
            return
        self._new_statement()
        for name, span in names:
            self._define(name, span, self.root if name[0] in "#!" else self._scope)
        if names[0][0][0] == "^":
            end = self.text.find("\n", end)
            self._label_end = end if end >= 0 else len(self.text)

    def _new_statement(self) -> None:
        self._pending.clear()
        self._statement = len(self._unseen)
        self._function = None

    def _value(self, token: str, start: int) -> None:
        name = token.partition("#")[0] if "#" in token else token
        end = start + len(token)
        following = self.text[end : end + 2]
        # Of most uses this alone is seen, without the expressions below.
        if (following[:1] in ":=" or following in _BEFORE_TYPE) and len(token) == len(name):
            span = Span(start, end)
            if ":" not in following and (binds := _BINDS.match(self.text, end)) is not None:
                if "." in binds[1] and binds[1][0].isalpha() or binds[1][0] == '"':
                    self._new_statement()
                    self._define(name, span, self._scope)
                else:
                    self._pending.append((name, span))
                return
            is_label = start < self._label_end
            if (is_label or self._function is not None) and _HAS_TYPE.match(self.text, end) is not None:
                if is_label:
                    self._define(name, span, self._scope)
                else:
                    self._pending.append((name, span))
                return
        self._use(name, start)

    def _use(self, name: str, start: int) -> None:
        if (found := self._scope.names.get(name) or self._scope.find(name)) is not None:
            found.uses.append(start)
        else:
            self._unseen.append((name, Span(start, start + len(name)), self._scope))

    def _define(self, name: str, span: Span, scope: Scope, detail: str = "") -> Definition:
        if (known := scope.names.get(name)) is not None:  # an error in the text: the first one counts
            known.uses.append(span.start)
            return known
        made = scope.names[name] = Definition(name, span, scope, detail)
        self.definitions.append(made)
        return made

    def _symbol(self, token: str, start: int) -> None:
        span = Span(start, start + len(token))
        begin = max(0, start - _MOST_BEFORE)  # of a program in one line, not all of it for each symbol
        line = self.text[max(begin, self.text.rfind("\n", begin, start) + 1) : start]
        op = _OP_NAME.search(line)
        if op is None or "=" in line or _DEFINES.search(op[1]) is None:
            self._use(token, start)
            return
        self._new_statement()
        self._function = self._define(token, span, self.root, op[1])

    def _named(self, token: str, start: int) -> None:
        """The symbol that an op in the generic form defines: `sym_name = "f"`."""
        if _SYMBOL_NAME.search(self.text, max(0, start - 20), start) is not None:
            self._define(f"@{token[1:-1]}", Span(start, start + len(token)), self.root)

    def _brace(self, start: int) -> None:
        if _DICTIONARY.match(self.text, start + 1):
            self.open.append((start, None))
            return
        scope = Scope(start, self._scope, self._function is not None, len(self.text))
        self.scopes.append(scope)
        if self._function is not None:
            self._function.body = scope
        # What nothing has defined before a region, such as the indices of `scf.forall`, is defined in it.
        heading = [(name, span) for name, span, _ in self._unseen[self._statement :] if name[0] == "%"]
        if heading:
            self._unseen[self._statement :] = [u for u in self._unseen[self._statement :] if u[0][0] != "%"]
        for name, span in (*self._pending, *heading):
            self._define(name, span, scope)
        self.open.append((start, self._scope))
        self._scope = scope
        self._new_statement()

    def _close(self, start: int) -> None:
        if not self.open:
            self.unopened.append(start)
            return
        begin, before = self.open.pop()
        self.braces.append(Span(begin, start + 1))
        if before is not None:
            self._scope.end = start
            self._scope = before
            self._new_statement()

    @cached_property
    def _used(self) -> Mapping[int, Definition]:
        """The definitions by the beginnings of their uses."""
        return {start: definition for definition in self.definitions for start in definition.uses}

    @cached_property
    def _other(self) -> Mapping[int, Mention]:
        """The names that are defined, and those that nothing defines, by their beginnings."""
        unknown = {span.start: Mention(span, name, None) for name, span in self.unknown}
        return unknown | {d.span.start: Mention(d.span, d.name, d) for d in self.definitions}

    @cached_property
    def _starts(self) -> Sequence[int]:
        """The offsets at which names begin, in order."""
        return sorted([*self._used, *self._other])

    def mention_at(self, offset: int) -> Mention | None:
        """The name at an offset, or the one that ends there."""
        after = bisect_right(self._starts, offset)
        if not after:
            return None
        start = self._starts[after - 1]
        if (found := self._other.get(start)) is None:
            used = self._used[start]
            found = Mention(Span(start, start + len(used.name)), used.name, used)
        return found if offset <= found.span.end else None

    def scope_at(self, offset: int) -> Scope:
        """The innermost scope around an offset."""
        return max(
            (s for s in self.scopes if s.start < offset <= s.end), key=lambda s: s.start, default=self.root
        )


class Mention(NamedTuple):
    """A name in the text; None for the definition of one that has none in its piece."""

    span: Span
    name: str
    definition: Definition | None
