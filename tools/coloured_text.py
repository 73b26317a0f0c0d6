"""IR as HTML for notebooks: coloured text in which each function can be folded; no script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from stepwell.tools.lsp.tokens import KINDS

MOST_LINES = 2000
"""A notebook keeps what it shows in its file: longer text is cut, with a note."""
_OPEN_LINES = 80
"""Functions are shown open where all of the text has so many lines."""
_COLOURS = {
    "Generic.Subheading": "#767676",
    "Comment.Special": "#8a6d00",
    "Comment.Single": "#767676",
    "Name.Function": "#0550ae",
    "String": "#0a6640",
    "Name.Variable": "#953800",
    "Name.Label": "#953800",
    "Name.Class": "#8250df",
    "Name.Constant": "#8250df",
    "Keyword.Type": "#1b7c83",
    "Name.Attribute": "#57606a",
    "Number.Integer": "#0550ae",
    "Number.Float": "#0550ae",
    "Number.Hex": "#0550ae",
}
"""Colours on white by Pygments' token types, which notebooks in other colours can read too."""
_TOKENS = re.compile("|".join(f"(?P<k{i}>{kind.pattern})" for i, kind in enumerate(KINDS)), re.MULTILINE)
_FUNCTION = re.compile(r'( {0,2})(?:"?(?:func|llvm)\.func\b)')
_STYLE = "margin:0;padding:0 .5em;background:#fff;color:#24292f;line-height:1.35"


def html_of(text: str) -> str:
    """The text of IR as HTML. A name in it is never markup."""
    lines = text.splitlines()
    cut = len(lines) - MOST_LINES
    is_open = " open" if len(lines) <= _OPEN_LINES else ""
    parts: list[str] = []
    for is_function, part in _parts(lines[:MOST_LINES]):
        if not is_function:
            parts.append(_pre(part))
            continue
        head = f"<summary>{_pre(part[:1], 'display:inline')}</summary>"
        parts.append(f"<details{is_open}>{head}{_pre(part[1:])}</details>")
    if cut > 0:
        parts.append(f"<p>{cut} more lines are not shown: save the module to read them</p>")
    return f'<div style="font-size:90%;overflow-x:auto">{"".join(parts)}</div>'


def _pre(lines: list[str], style: str = "") -> str:
    return f'<pre style="{_STYLE};{style}">{_coloured(lines)}</pre>'


def _parts(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """Functions, each with its lines, and what is between them; whether a part is a function."""
    between: list[str] = []
    at = 0
    while at < len(lines):
        function = _FUNCTION.match(lines[at])
        end = at + 1
        if function is not None and lines[at].rstrip().endswith("{"):
            close = function[1] + "}"
            while end < len(lines) and not lines[end].startswith(close):
                end += 1
            if between:
                yield False, between
                between = []
            yield True, lines[at : end + 1]
            at = end + 1
            continue
        between.append(lines[at])
        at += 1
    if between:
        yield False, between


def _coloured(lines: list[str]) -> str:
    text, at, found = "\n".join(lines), 0, list[str]()
    for match in _TOKENS.finditer(text):
        found.append(escape(text[at : match.start()]))
        colour = _COLOURS.get(KINDS[int(str(match.lastgroup)[1:])].pygments)
        token = escape(match.group())
        found.append(token if colour is None else f'<span style="color:{colour}">{token}</span>')
        at = match.end()
    return "".join([*found, escape(text[at:])])
