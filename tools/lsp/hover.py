"""The text about a name in an open file: an op, a value, an attribute, a weight, a pass."""

from __future__ import annotations

import re

from stepwell.tools.lsp.document import Ask, Document, Json
from stepwell.tools.lsp.text import Span
from stepwell.tools.lsp.tokens import SUFFIX

_WORD = re.compile(rf"[#!]?[A-Za-z_][\w$.-]*|{SUFFIX}")
_WEIGHT = re.compile(r'#graph\.weight<"(?:[^"\\]|\\.)*",\s*"(\w+)"')
_ATTRIBUTE = re.compile(r"[#!]([A-Za-z_]\w*\.[\w$.]+)<[^#!]*$")
_MOST_USES = 8


def hover(document: Document, offset: int, ask: Ask) -> Json | None:
    """The documentation of the name at an offset, as Markdown; None where there is nothing to say."""
    start, line = document.index.lines.around(offset)
    found = document.index.name_at(offset)
    if found is not None and document.index.text[found.start] in "%^@" and not line.lstrip().startswith("//"):
        return _shown(document, found, _about_value(document, found))
    text = document.index.text[
        start : document.index.text.find("\n", offset) % (len(document.index.text) + 1)
    ]
    for word in _WORD.finditer(text):
        if word.start() <= offset - start <= word.end():
            page = _page(document, line, word, ask)
            return _shown(document, Span(start + word.start(), start + word.end()), page) if page else None
    return None


def _shown(document: Document, span: Span, text: str) -> Json:
    return {"contents": {"kind": "markdown", "value": text}, "range": document.range(span)}


def _about_value(document: Document, span: Span) -> str:
    """The type of a value, the node of the model, the definition, and the users."""
    index = document.index
    name = index.text[span.start : span.end]
    spans = index.spans_at(span.start)
    defined = index.definition_at(span.start)
    if defined is None:
        return f"`{name}` is not defined"
    kind = document.fact_at(defined.start, "types")
    heading = f"{name} : {kind}" if kind else name
    lines = [f"```mlir\n{heading}\n```"]
    if node := document.fact_at(defined.start, "nodes"):
        lines.append(f"of {node}")
    lines.append(f"```mlir\n{index.line_of(defined.start)}\n```")
    users = dict.fromkeys(index.lines.place(use.start).line + 1 for use in spans[1:])
    more = ", …" if len(users) > _MOST_USES else ""
    shown = ", ".join(str(line) for line in list(users)[:_MOST_USES]) + more
    lines.append(f"used in line{'s' * (len(users) > 1)} {shown}" if users else "not used")
    return "\n\n".join(lines)


def _page(document: Document, line: str, word: re.Match[str], ask: Ask) -> str:
    """The page about a name in a line; empty for an unknown one."""
    name = word.group()
    if line.lstrip().startswith("//"):
        return str(ask("pass-page", name=name)) if "RUN:" in line else ""
    if name[0] in "#!":
        weight = _WEIGHT.match(line, word.start())
        described = str(ask("weight", file=str(document.path), key=weight[1])) if weight else ""
        page = str(ask("attribute", name=name[1:]))
        return "\n\n".join(filter(None, (described, page)))
    if "." in name and (page := str(ask("op", name=name))):
        return page
    around = _ATTRIBUTE.search(line, 0, word.start())
    return str(ask("attribute", name=around[1])) if around else ""
