"""The summary of a compilation, as text."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import cast

from stepwell.runtime.dims import Dim
from stepwell.runtime.image import ModelImage
from stepwell.tools.devices.summary import device_lines
from stepwell.tools.terminal import on_one_line

MAX_EXPRESSION = 80
"""The longest dimension expression that is printed, in characters."""


def summary_text(image: ModelImage, output: str | None = None) -> str:
    """Nodes, kernels, cache hits, time per level, arena and weight bytes, in a few lines."""
    facts = image.summary
    seconds = cast(Mapping[str, float], image.effort.get("seconds", {}))
    lines: list[str] = []
    if "kernels" in facts:  # a program from text of level 3 or 4 has no such counts
        lines.append(
            f"{facts.get('nodes', '?')} nodes -> {facts['kernels']} kernels "
            f"({image.effort.get('cached kernels', 0)} from the cache)"
            + (f", {facts['tuned']} of {facts['kernels']} tuned" if "tuned" in facts else "")
            + (f", {facts['partitions']} partitions of backends" if "partitions" in facts else "")
            + (f", {facts['given up']} given up: --remarks says why" if "given up" in facts else "")
        )
    if "precision" in facts:
        lines.append(f"products in {facts['precision']}: results are approximate")
    if image.program:
        lines.append(f"{facts.get('nodes', '?')} nodes in {len(image.segments)} segments")
    lines += device_lines(image, _arena_text, readable_bytes)
    if "arena bytes" in facts:
        weights = readable_bytes(facts.get("weight bytes"))
        lines.append(f"arena {_arena_text(image.main.interface.arena_bytes)}, weights {weights}")
    if seconds:
        steps = ", ".join(f"{level} {s:.2f} s" for level, s in seconds.items())
        lines.append(f"{steps}; {sum(seconds.values()):.2f} s in all")
    if output is not None:
        lines.append(f"wrote {output}")
    return "\n".join(lines)


def _arena_text(size: Dim) -> str:
    """The size of the arena; in place of a long expression, the value for symbols of 1."""
    if len(str(size)) <= MAX_EXPRESSION:
        return readable_bytes(size)
    try:
        ones = readable_bytes(size.evaluate(dict.fromkeys(size.symbols(), 1)))
    except ZeroDivisionError:
        return "that grows with the inputs (--print-memory-plan says how)"
    return f"{ones} where each open size is 1 (--print-memory-plan says how it grows)"


def shortened(text: str, chars: int) -> str:
    """A text of at most so many characters, the last of which says that there were more."""
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def table_text(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Container[int] = ()) -> str:
    """
    Rows as lines of text, in columns; those in `numbers` are aligned to the right.

    Unseen characters of a cell are shown by their numbers, in files too: each row is one line.
    """
    lines = [[*map(on_one_line, line)] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def aligned(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(map(aligned, lines))


def readable_bytes(size: object) -> str:
    """A size in bytes with a unit; an expression is unchanged."""
    text = str(size)
    if not text.isdigit():
        return f"{text} bytes"
    number = float(text)
    for unit in ("B", "KB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
