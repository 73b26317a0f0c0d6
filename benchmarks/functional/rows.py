"""Rows of the table of `python -m benchmarks.functional`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EXECUTORS: tuple[Literal["native", "vm"], ...] = ("native", "vm")


@dataclass(frozen=True)
class Row:
    """A measurement beside its bound; `holds` is None where a peer or a component is missing."""

    what: str
    found: str
    bound: str
    holds: bool | None

    def __str__(self) -> str:
        answer = {True: "yes", False: "**no**", None: "-"}[self.holds]
        return f"| {self.what} | {self.found} | {self.bound} | {answer} |"


HEAD = "| What | Found | Bound | Holds |\n|---|---|---|---|"
