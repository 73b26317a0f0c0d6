"""Lines of a text, and places in it as the protocol counts them."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple


class Place(NamedTuple):
    """A place as the protocol counts: the line from 0 on, the column in units of UTF-16."""

    line: int
    character: int


class Span(NamedTuple):
    """The first offset in a text, and the one after the last."""

    start: int
    end: int


class Lines:
    """The lines of a text, for conversions between offsets and places."""

    def __init__(self, text: str):
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        """The place of an offset."""
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        return Place(line, len(before) if before.isascii() else len(before.encode("utf-16-le")) // 2)

    def offset(self, line: int, character: int) -> int:
        """The offset of a place; one behind the end of a line, or of the text, is at its end."""
        if line >= len(self.starts):
            return len(self.text)
        text = self.line(line)
        if not text.isascii():
            text = text.encode("utf-16-le")[: 2 * character].decode("utf-16-le", errors="ignore")
        return self.starts[line] + min(character, len(text))

    def line(self, number: int) -> str:
        """A line of the text, counted from 0, without its end."""
        start = self.starts[number]
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        return self.text[start:end]
