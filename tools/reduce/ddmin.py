"""Delta debugging: a small part of a sequence that keeps a property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Unit = TypeVar("Unit")


def minimized(
    units: Sequence[Unit], first_kept: Callable[[Iterable[Sequence[Unit]]], Sequence[Unit] | None]
) -> list[Unit]:
    """
    A smallest part of `units` with a property: without any single unit, the property is lost.

    Args: `first_kept` returns the first of some parts that keeps the property, None where none does.
    Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002, section 3.
    """
    kept: list[Unit] = list(units)
    pieces = 2
    while kept:
        pieces = min(pieces, len(kept))
        found = first_kept(_parts(kept, pieces))
        if found is not None:
            pieces = max(pieces - 1, 2) if len(found) > len(kept) // 2 else 2
            kept = list(found)
        elif pieces == len(kept):
            break
        else:
            pieces *= 2
    return kept


def _parts(units: Sequence[Unit], pieces: int) -> Iterator[Sequence[Unit]]:
    """The pieces of a sequence, the smallest parts first, then what is left without each of them."""
    bounds = [len(units) * index // pieces for index in range(pieces + 1)]
    ranges = list(zip(bounds, bounds[1:], strict=False))
    if pieces == 1:
        none: list[Unit] = []
        yield none
        return
    yield from (units[begin:end] for begin, end in ranges)
    if pieces > 2:
        yield from ([*units[:begin], *units[end:]] for begin, end in ranges)
