"""Self-contained HTML pages: one file each, which loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; }
th, td { padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #ddd; }
th { font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.same { color: #999; } code, pre { font: 13px/1.4 ui-monospace, monospace; }
.bar { display: inline-block; height: .6rem; background: #4a7; vertical-align: baseline; }
pre { background: #f6f6f4; padding: .6rem; overflow-x: auto; max-height: 30rem; }
ins { color: #176b2c; text-decoration: none; } del { color: #a11; text-decoration: none; }
summary { cursor: pointer; color: #245; }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1b; color: #ddd; } a { color: #8bf; } pre { background: #262626; }
  th, td { border-color: #444; } tr.same { color: #777; } ins { color: #7d8; } del { color: #f88; }
  summary { color: #9bd; }
}
"""


def self_contained_page(title: str, body: Iterable[str]) -> str:
    """
    A page as HTML, light or dark as its reader's system is.

    Args: `title` is text; `body` is HTML, whose text the caller has escaped. The style has the classes `n`
    (numbers), `same` (grey rows) and `bar`, and colours for `ins` and `del`.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )
