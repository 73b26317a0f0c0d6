"""The memory plan of `@main` as a diagram of text: buffers over time, by their offsets in the arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters, digits

from stepwell.lowering.main_to_buffers.plan import Buffer, MainPlan
from stepwell.runtime.dims import Dim

_COLUMNS, _ROWS, _MARGIN = 80, 16, 13
_LETTERS = ascii_letters + digits


def letter_of(number: int) -> str:
    """The character by which the diagram shows the buffer of a number in the plan."""
    return _LETTERS[number % len(_LETTERS)]


def value_of(dim: Dim, symbols: Mapping[str, int]) -> int | None:
    """The value of a size; None where it depends on symbols without a value."""
    return dim.evaluate(symbols) if dim.symbols() <= symbols.keys() else None


def diagram(plan: MainPlan, symbols: Mapping[str, int]) -> str:
    """
    The buffers of the arena: each column is a span of time, each row one of offsets, from 0 up, a character
    the buffer that is there (of several that fit in, the first). Empty where the arena is.

    Args: `symbols` are values of open sizes; buffers whose size or offset needs others are left out.
    """
    total = value_of(plan.arena.total, symbols)
    if not total or not plan.buffers:
        return ""
    end = 1 + max(buffer.last for buffer in plan.buffers)
    width = min(end, _COLUMNS - _MARGIN)
    lines = [[" "] * width for _ in range(_ROWS)]
    for number, buffer in reversed(list(enumerate(plan.buffers))):
        for row in _rows(buffer, symbols, total):
            first, last = buffer.first * width // end, buffer.last * width // end
            lines[row][first : last + 1] = letter_of(number) * (last + 1 - first)
    labels = [f"{(total * row) // _ROWS:>{_MARGIN - 2}} |" for row in range(_ROWS)]
    axis = f"{'0':>{_MARGIN}} {f'op {end - 1}':>{max(0, width - 2)}}"
    rows = [f"{label}{''.join(line)}".rstrip() for label, line in zip(labels, lines, strict=True)]
    return "\n".join([*reversed(rows), axis]) + "\n"


def _rows(buffer: Buffer, symbols: Mapping[str, int], total: int) -> Sequence[int]:
    """The rows of the diagram that a buffer covers."""
    offset, size = value_of(buffer.offset, symbols), value_of(buffer.size, symbols)
    if buffer.kind != "arena" or offset is None or not size:
        return ()
    return range(offset * _ROWS // total, min(_ROWS, 1 + (offset + size - 1) * _ROWS // total))
