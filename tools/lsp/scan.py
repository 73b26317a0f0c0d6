"""
A piece of a file as definitions and uses of names, by its tokens alone: it need not parse.

The tokens of each block of lines are kept as events. The meaning of a name follows from its own events and
from the braces, so a question about one name reads no events of others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

from stepwell.tools.lsp.block import Block, Event, blocks_of
from stepwell.tools.lsp.text import Span

Kind = Literal["value", "block", "symbol", "alias"]


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


class Mention(NamedTuple):
    """A name in the text; None for the definition of one that has none in its piece."""

    span: Span
    name: str
    definition: Definition | None


class Braces(NamedTuple):
    """The braces of a piece: pairs, closing braces alone, opening braces alone."""

    pairs: Sequence[Span]
    unopened: Sequence[int]
    open: Sequence[int]


class Names:
    """Names of a piece of a file: their definitions and uses; offsets are those of the piece."""

    def __init__(self, length: int):
        self.root = Scope(0, None, True, length)
        self.definitions: list[Definition] = []
        self.scopes = [self.root]
        """In the order in which they begin."""
        self.unknown: list[tuple[str, Span]] = []
        """The names that are used and not defined anywhere."""
        self._length = length
        self._scope = self.root
        self._open: list[Scope | None] = []
        """For each open brace the scope around it; None for that of a dictionary."""
        self._pending: list[tuple[str, Span]] = []
        """Names that the next region of the statement defines."""
        self._unseen: list[tuple[str, Span, Scope]] = []
        """Uses before a definition."""
        self._statement = (0, 0)
        self._first_unseen = 0
        """The number of unseen uses before this statement."""
        self._symbol: Definition | None = None
        """The symbol that was defined last: a function's region comes behind it."""

    def read(self, number: int, start: int, events: Sequence[Event]) -> None:
        """Go on with events of the block of a number, which begins at an offset."""
        for event in events:
            if (number, event.statement) != self._statement:
                self._statement = number, event.statement
                self._pending.clear()
                self._first_unseen = len(self._unseen)
            if event.name:
                self._read_name(event, Span(start + event.start, start + event.start + event.length))
            elif event.action == "close":
                if self._open and (before := self._open.pop()) is not None:
                    self._scope.end = start + event.start
                    self._scope = before
            elif event.action == "dictionary":
                self._open.append(None)
            else:
                self._begin_scope(start + event.start, isolated=event.action == "function")

    def end(self) -> None:
        """Find the definitions of uses before them."""
        for name, span, scope in self._unseen:
            if (found := scope.find(name)) is not None:
                found.uses.append(span.start)
            else:
                self.unknown.append((name, span))

    def _read_name(self, event: Event, span: Span) -> None:
        name = event.name
        if event.action == "pend":
            self._pending.append((name, span))
        elif event.action == "define":
            made = self._define(name, span, self.root if name[0] in "#!@" else self._scope, event.detail)
            if event.detail:
                self._symbol = made
        elif (found := self._scope.find(name)) is not None:
            found.uses.append(span.start)
        else:
            self._unseen.append((name, span, self._scope))

    def _define(self, name: str, span: Span, scope: Scope, detail: str = "") -> Definition:
        if (known := scope.names.get(name)) is not None:  # an error in the text: the first one counts
            known.uses.append(span.start)
            return known
        made = scope.names[name] = Definition(name, span, scope, detail)
        self.definitions.append(made)
        return made

    def _begin_scope(self, start: int, *, isolated: bool) -> None:
        scope = Scope(start, self._scope, isolated, self._length)
        self.scopes.append(scope)
        if isolated and self._symbol is not None:
            self._symbol.body = scope
        # What nothing has defined before a region, such as the indices of `scf.forall`, is defined in it.
        unseen = self._unseen[self._first_unseen :]
        heading = [(name, span) for name, span, _ in unseen if name[0] == "%"]
        self._unseen[self._first_unseen :] = [use for use in unseen if use[0][0] != "%"]
        for name, span in (*self._pending, *heading):
            self._define(name, span, scope)
        self._open.append(self._scope)
        self._scope = scope

    def mention_at(self, start: int) -> Mention | None:
        """The name that begins at an offset."""
        for definition in self.definitions:
            if definition.span.start == start or start in definition.uses:
                span = definition.span
                if span.start != start:
                    span = Span(start, start + len(definition.name))
                return Mention(span, definition.name, definition)
        return next((Mention(span, name, None) for name, span in self.unknown if span.start == start), None)

    def scope_at(self, offset: int) -> Scope:
        """The innermost scope around an offset."""
        return max(
            (s for s in self.scopes if s.start < offset <= s.end), key=lambda s: s.start, default=self.root
        )


class Scan:
    """A piece of a file in blocks; offsets are those of its text."""

    def __init__(self, text: str, before: Scan | None = None):
        """Args: `before` is a scan of an earlier text; only what has changed since is read."""
        self.text = text
        self.blocks = blocks_of(text, () if before is None else before.blocks)
        self._starts = [0, *accumulate(len(block.text) for block in self.blocks)]

    def names(self, wanted: Collection[str]) -> Names:
        """The definitions and uses of some names."""
        return self._read(lambda block: block.events_of(wanted))

    def _read(self, events: Callable[[Block], Sequence[Event]]) -> Names:
        """The names of some events of each block."""
        made = Names(len(self.text))
        for number, (start, block) in enumerate(zip(self._starts, self.blocks, strict=False)):
            made.read(number, start, events(block))
        made.end()
        return made

    @cached_property
    def _all(self) -> Collection[str]:
        return {name for block in self.blocks for name in block.by_name if name}

    @cached_property
    def all_names(self) -> Names:
        """The definitions and uses of all names, and all scopes."""
        return self._read(lambda block: block.scope_events)

    @cached_property
    def named_parts(self) -> Names:
        """The definitions and uses of symbols, aliases and labels: of all names but values."""
        return self.names({name for name in self._all if name[0] != "%"})

    @cached_property
    def braces(self) -> Braces:
        """The braces."""
        pairs: list[Span] = []
        unopened: list[int] = []
        open_braces: list[int] = []
        for start, block in zip(self._starts, self.blocks, strict=False):
            pairs += [Span(start + a.start, start + b.start + 1) for a, b in block.pairs]
            for brace in block.outer_braces:
                if brace.action != "close":
                    open_braces.append(start + brace.start)
                elif open_braces:
                    pairs.append(Span(open_braces.pop(), start + brace.start + 1))
                else:
                    unopened.append(start + brace.start)
        return Braces(sorted(pairs), unopened, open_braces)

    def mention_at(self, offset: int) -> Mention | None:
        """The name at an offset, or the one that ends there."""
        if (found := self._name_at(offset)) is None:
            return None
        _, start, name = found
        return self.names([name]).mention_at(start)

    def definition_at(self, offset: int) -> Mention | None:
        """The name at an offset with its definition; where that comes first, no later use is read."""
        if (found := self._name_at(offset)) is None:
            return None
        number, start, name = found
        made = Names(len(self.text))
        for before in range(number + 1):
            made.read(before, self._starts[before], self.blocks[before].events_of([name]))
        mention = made.mention_at(start)
        if mention is not None and mention.definition is not None:
            return mention
        return self.names([name]).mention_at(start)

    def _name_at(self, offset: int) -> tuple[int, int, str] | None:
        """The number of the block, the offset and the text of the name at an offset."""
        number = min(bisect_right(self._starts, offset), len(self.blocks)) - 1
        if number < 0:
            return None
        event = self.blocks[number].name_at(offset - self._starts[number])
        return None if event is None else (number, self._starts[number] + event.start, event.name)
