"""Figures of a benchmark: found, bound, and whether it was met; kept in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SKIPPED = "SKIPPED"
FAILED = "FAILED"


class Figure(NamedTuple):
    """A figure: `met`, `MISSED`, `SKIPPED` for want of something, `FAILED`, or `-` without a bound."""

    what: str
    found: str
    bound: str
    verdict: str = "-"

    def __str__(self) -> str:
        return f"| {self.what} | {self.found} | {self.bound} | {self.verdict} |"


HEAD = "| What | Found | Bound | |\n|---|---|---|---|"


def judged(what: str, found: str, bound: str, met: bool) -> Figure:
    """A figure with a bound."""
    return Figure(what, found, bound, "met" if met else "MISSED")


def skipped(what: str, why: str, bound: str) -> Figure:
    """A figure that cannot be measured here, and why."""
    return Figure(what, why, bound, SKIPPED)


def figures_of(path: Path) -> dict[str, list[Figure]]:
    """The last figures of each group of a file; a line that was cut off counts for nothing."""
    found: dict[str, list[Figure]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            found[row["group"]] = [Figure(*figure) for figure in row["figures"]]
        except (ValueError, TypeError, KeyError):
            continue
    return found


def add(path: Path, group: str, figures: Iterable[Figure]) -> None:
    """Add the figures of a group to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(
            "\n" + json.dumps({"group": group, "figures": list(figures)})
        )  # that before may be cut off


def sums(figures: Iterable[Figure]) -> Iterator[str]:
    """The number of figures of each verdict."""
    verdicts = [figure.verdict for figure in figures]
    for verdict in ("met", "MISSED", SKIPPED, FAILED, "-"):
        if count := verdicts.count(verdict):
            yield f"{count} {verdict if verdict != '-' else 'without a bound'}"
