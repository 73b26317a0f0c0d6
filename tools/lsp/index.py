"""
The names of a file as its text has them now: parts, definitions, uses, symbols, folds.

A file is indexed in pieces, one a function, and a piece whose text has not changed is not read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stepwell.tools.lsp.scan import Definition, Mention, Scan, Scope
from stepwell.tools.lsp.text import Lines, Span
from stepwell.tools.lsp.tokens import SPLIT, SUFFIX

_FUNCTION = re.compile(r"\.func\b")
_BEFORE_FUNCTION = re.compile(r' {0,2}"?(?:func|llvm)')
_BLOCKS = re.compile(r"(?:^[ \t]*//(?! -----).*\n?)+|(?:^#loc.*\n?)+", re.MULTILINE)
_SUFFIX = re.compile(SUFFIX)


@dataclass(frozen=True)
class Piece:
    """A scanned piece of a file, and the offset of its first character."""

    start: int
    scan: Scan

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.scan.text)

    def shifted(self, span: Span) -> Span:
        """A span of the piece, in the file."""
        return Span(span.start + self.start, span.end + self.start)


@dataclass(frozen=True)
class Symbol:
    """An entry of a file's outline: a part, a function, another symbol, an alias, a block."""

    name: str
    detail: str
    span: Span
    """The whole, with its region."""
    name_span: Span
    children: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Part:
    """A program of a file: the text between two lines `// -----`."""

    span: Span
    pieces: tuple[Piece, ...]

    @cached_property
    def shared(self) -> Mapping[str, tuple[Piece, Definition]]:
        """The symbols and aliases by name: all pieces see them."""
        found: dict[str, tuple[Piece, Definition]] = {}
        for piece in self.pieces:
            for name, definition in piece.scan.named_parts.root.names.items():
                if name[0] in "@#!":
                    found.setdefault(name, (piece, definition))
        return found

    def piece_at(self, offset: int) -> Piece:
        """The piece that contains an offset."""
        return next((p for p in self.pieces if offset < p.end), self.pieces[-1])

    def spans_of(self, piece: Piece, mention: Mention) -> list[Span]:
        """The spans of the name of a mention; first its definition, if it has one."""
        if mention.name[0] in "%^":
            found = mention.definition
            spans = found.spans if found else [s for _, s in piece.scan.names([mention.name]).unknown]
            return [piece.shifted(span) for span in (*spans[:1], *sorted(spans[1:]))]
        spans = [
            piece.shifted(span)
            for piece in self.pieces
            for names in [piece.scan.names([mention.name])]
            for span in (*(s for _, s in names.unknown), *(s for d in names.definitions for s in d.spans))
        ]
        if (known := self.shared.get(mention.name)) is not None:
            first = known[0].shifted(known[1].span)
            return [first, *sorted(span for span in spans if span != first)]
        return sorted(spans)


class Index:
    """The names of a text."""

    def __init__(self, text: str, before: Index | None = None, encoding: str = "utf-16"):
        """Args: `before` is the index of an earlier text of the file; `encoding` that of columns."""
        self.text = text
        self.lines = Lines(text, encoding)
        parts = [(span, _pieces(text, span)) for span in _between(SPLIT, text, Span(0, len(text)))]
        self._scans = _scans(
            [text[piece.start : piece.end] for _, pieces in parts for piece in pieces],
            before._scans if before is not None else {},
        )
        self.parts = [
            Part(span, tuple(Piece(p.start, self._scans[text[p.start : p.end]]) for p in pieces))
            for span, pieces in parts
        ]

    def part_at(self, offset: int) -> Part:
        """The part that contains an offset."""
        return next((part for part in self.parts if offset <= part.span.end), self.parts[-1])

    def name_at(self, offset: int) -> Span | None:
        """The span of the name at an offset."""
        found = self._mention(offset)
        return None if found is None else found[1].shifted(found[2].span)

    def _mention(self, offset: int) -> tuple[Part, Piece, Mention] | None:
        part = self.part_at(offset)
        piece = part.piece_at(offset)
        mention = piece.scan.mention_at(offset - piece.start)
        return None if mention is None else (part, piece, mention)

    def definition_at(self, offset: int) -> Span | None:
        """The definition of the name at an offset; None where nothing defines it."""
        part = self.part_at(offset)
        piece = part.piece_at(offset)
        if (mention := piece.scan.definition_at(offset - piece.start)) is None:
            return None
        if mention.name[0] in "%^":
            return None if mention.definition is None else piece.shifted(mention.definition.span)
        shared = part.shared.get(mention.name)
        return None if shared is None else shared[0].shifted(shared[1].span)

    def spans_at(self, offset: int) -> list[Span]:
        """All places of the name at an offset, that of its definition first."""
        found = self._mention(offset)
        return [] if found is None else found[0].spans_of(found[1], found[2])

    def renamed(self, offset: int, name: str) -> list[tuple[Span, str]]:
        """
        The edits that give the name at an offset another one.

        Args: `name` is with or without its first character.
        Raises: ValueError, saying why, for what is no name, or one that another definition has.
        """
        if (found := self._mention(offset)) is None:
            raise ValueError("there is no name here")
        part, piece, mention = found
        first = mention.name[0]
        new = first + name.removeprefix(first)
        if first == "@" or not _SUFFIX.fullmatch(new[1:]):
            raise ValueError(f"{new} is no name that can be given to {mention.name}")
        spans = part.spans_of(piece, mention)
        pieces = [piece] if first in "%^" else part.pieces
        if new != mention.name and any(_collides(p.scan, mention, new) for p in pieces):
            raise ValueError(f"{new} is defined here already")
        return [(span, new) for span in spans]

    def values_at(self, offset: int) -> list[tuple[str, str]]:
        """The names that can be used at an offset, values from lines before, with their lines."""
        part = self.part_at(offset)
        begin = self.lines.around(offset)[0]
        piece = part.piece_at(offset)
        found: dict[str, str] = {}
        scope: Scope | None = piece.scan.all_names.scope_at(offset - piece.start)
        while scope is not None:
            for name, definition in scope.names.items():
                if name[0] != "%" or piece.start + definition.span.start < begin:
                    found.setdefault(name, self.line_of(piece.start + definition.span.start))
            scope = None if scope.isolated else scope.parent
        for name, (owner, definition) in part.shared.items():
            found.setdefault(name, self.line_of(owner.shifted(definition.span).start))
        return list(found.items())

    def line_of(self, offset: int) -> str:
        """The line of an offset, without the spaces around it."""
        return self.lines.around(offset)[1].strip()

    def outline(self) -> list[Symbol]:
        """The symbols of the file; those of several parts each below its part."""
        if len(self.parts) == 1:
            return list(_outline(self.parts[0]))
        made: list[Symbol] = []
        for number, part in enumerate(self.parts, 1):
            children = tuple(_outline(part))
            made.append(
                Symbol(f"part {number}", "", part.span, Span(part.span.start, part.span.start), children)
            )
        return made

    def folds(self) -> list[Span]:
        """The spans to fold: braces, parts, comments of several lines, locations."""
        found = [match for match in _BLOCKS.finditer(self.text)]
        spans = [Span(m.start(), m.start() + len(m.group().rstrip("\n"))) for m in found]
        spans += [part.span for part in self.parts] if len(self.parts) > 1 else []
        for part in self.parts:
            open_braces: list[int] = []
            for piece in part.pieces:
                braces = piece.scan.braces
                spans += [piece.shifted(Span(s.start, s.end - 1)) for s in braces.pairs]
                for closing in braces.unopened:
                    if open_braces:
                        spans.append(Span(open_braces.pop(), piece.start + closing))
                open_braces += [piece.start + start for start in braces.open]
        return spans


def _between(marks: re.Pattern[str], text: str, span: Span) -> Iterator[Span]:
    start = span.start
    for match in marks.finditer(text, span.start, span.end):
        yield Span(start, match.start())
        start = match.end()
    yield Span(start, span.end)


def _pieces(text: str, span: Span) -> list[Span]:
    """The spans of the functions in a span, and of what is before them."""
    starts = [span.start]
    for match in _FUNCTION.finditer(text, span.start, span.end):
        start = max(span.start, text.rfind("\n", span.start, match.start()) + 1)
        if _BEFORE_FUNCTION.fullmatch(text, start, match.start()):
            starts.append(start)
    return [Span(*ends) for ends in zip(starts, [*starts[1:], span.end], strict=True)]


def _scans(texts: Sequence[str], known: Mapping[str, Scan]) -> dict[str, Scan]:
    """
    The scans of texts. A new text is scanned from the changes to a known one that is no longer among the
    texts.
    """
    here = dict.fromkeys(texts)
    former = iter([scan for text, scan in known.items() if text not in here])
    return {text: known[text] if text in known else Scan(text, next(former, None)) for text in here}


def _collides(scan: Scan, mention: Mention, new: str) -> bool:
    """Whether a name is defined in a scope around the definition of a mention, or inside of it."""
    names = scan.names([mention.name, new])
    if mention.definition is None or new[0] not in "%^":
        return new in names.root.names
    home = next(d.scope for d in names.definitions if d.span == mention.definition.span)
    return home.find(new) is not None or any(
        new in scope.names and scope.start >= home.start and scope.end <= home.end for scope in names.scopes
    )


def _outline(part: Part) -> Iterator[Symbol]:
    for piece in part.pieces:
        definitions = piece.scan.named_parts.definitions
        for definition in definitions:
            if definition.kind == "block":
                continue
            body = definition.body
            whole = definition.span if body is None else Span(definition.span.start, body.end + 1)
            blocks = tuple(
                Symbol(d.name, "", piece.shifted(d.span), piece.shifted(d.span))
                for d in definitions
                if body is not None and d.kind == "block" and d.scope is body
            )
            name_span = piece.shifted(definition.span)
            yield Symbol(definition.name, definition.detail, piece.shifted(whole), name_span, blocks)
