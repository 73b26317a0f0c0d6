"""Lines of a text, and places in it as the protocol counts them."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple


class Place(NamedTuple):
    """A place as the protocol counts: the line from 0 on, the column in units of an encoding."""

    line: int
    character: int


class Span(NamedTuple):
    """The first offset in a text, and the one after the last."""

    start: int
    end: int


_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""By encoding, Python's name of it and the bytes of a unit."""


class Lines:
    """The lines of a text, for conversions between offsets and places."""

    def __init__(self, text: str, encoding: str = "utf-16"):
        """Args: `encoding`, `utf-8`, `utf-16` or `utf-32`, is that in whose units columns are counted."""
        self.text = text
        self.encoding = encoding
        lengths = map((1).__add__, map(len, text.split("\n")[:-1]))  # no Python code for each line
        self.starts = [0, *accumulate(lengths)]

    def place(self, offset: int) -> Place:
        """The place of an offset."""
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        if before.isascii():
            return Place(line, len(before))
        codec, unit_bytes = _CODECS[self.encoding]
        return Place(line, len(before.encode(codec)) // unit_bytes)

    def offset(self, line: int, character: int) -> int:
        """The offset of a place; past the end of a line, or of the text, the offset of the end."""
        if line >= len(self.starts):
            return len(self.text)
        text = self.line(line)
        if not text.isascii():
            codec, unit_bytes = _CODECS[self.encoding]
            text = text.encode(codec)[: unit_bytes * character].decode(codec, errors="ignore")
        return self.starts[line] + min(character, len(text))

    def around(self, offset: int) -> tuple[int, str]:
        """The offset at which the line of an offset begins, and the line."""
        number = bisect_right(self.starts, offset) - 1
        return self.starts[number], self.line(number)

    def line(self, number: int) -> str:
        """A line of the text, counted from 0, without its end."""
        start = self.starts[number]
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        return self.text[start:end]
