"""Output to terminals: control characters of names, which would move the cursor, are made visible."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO, cast

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters but tabs and ends of lines, characters without width, and marks of direction."""


def made_visible(text: str) -> str:
    """A text in which each unseen character is its number, as on the explorer's page: `‹001b›`."""
    return _UNSEEN.sub(lambda found: f"‹{ord(found[0]):04x}›", text)


def on_one_line(text: str) -> str:
    """As `made_visible`; tabs and ends of lines too, so that a name in a table is on one line of it."""
    return made_visible(text).replace("\n", "‹000a›").replace("\t", "‹0009›")


class _VisibleText:
    """A text stream that shows what it is given by `made_visible`."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(made_visible(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def names_made_visible() -> Generator[None]:
    """Let standard output show unseen characters if it is a terminal: in a file they are data."""
    if not sys.stdout.isatty():
        yield
        return
    with redirect_stdout(cast(TextIO, _VisibleText(sys.stdout))):
        yield
