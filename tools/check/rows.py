"""The findings of a validation: one row for each run of a pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from stepwell.passes.pipelines import Level
from stepwell.tools.json_facts import Facts


class Status(StrEnum):
    """Whether a program means the same after a pass as before it."""

    SAME = "same"
    """The pass changed nothing."""
    RIGHT = "right"
    """The results differ by no more than the class of the pass allows."""
    UNJUDGED = "unjudged"
    """The program did not run before or after the pass."""
    FAILED = "failed"
    """The pass raised an error, left broken IR, or a program that ends with an error."""
    DIFFERS = "differs"
    """The results differ by more."""


LEVELS: tuple[Level, ...] = get_args(Level)
WRONG = (Status.DIFFERS, Status.FAILED)


@dataclass(frozen=True)
class Row:
    """A run of a pass on a module, a kernel or a function."""

    level: str
    pass_name: str
    kernel: str | None
    status: Status
    difference: float | None = None
    """The largest `relative_difference` of a result, where results were compared."""
    allowed: float | None = None
    covered: float | None = None
    """The share of the results' elements that were compared."""
    seconds: float = 0.0
    note: str = ""
    value: str = ""
    """The value that departs: `result N` of a function, or the first one of a model by name."""

    def facts(self) -> Facts:
        """The row as JSON values."""
        return {
            "level": self.level,
            "pass": self.pass_name,
            "kernel": self.kernel,
            "status": str(self.status),
            "difference": self.difference,
            "allowed": self.allowed,
            "covered": self.covered,
            "seconds": round(self.seconds, 4),
            "value": self.value,
            "note": self.note,
        }


def is_right(rows: Sequence[Row]) -> bool:
    """Whether no row differs or failed."""
    return not any(row.status in WRONG for row in rows)


def table_of(rows: Sequence[Row]) -> str:
    """
    The rows as text: a line for each pass of a level that changed something, the worst first, then a summary.
    """
    by_pass: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.status is not Status.SAME:
            by_pass.setdefault((row.level, row.pass_name), []).append(row)
    groups = sorted(by_pass.values(), key=lambda group: (-_severity(_worst(group)), _depth(group[0])))
    lines = [_line(group) for group in groups]
    counts = Counter(row.status for row in rows)
    counted = ", ".join(f"{counts[status]} {status}" for status in reversed(Status) if counts[status])
    seconds = sum(row.seconds for row in rows)
    runs = f"{len(rows)} run{'s' * (len(rows) != 1)} of passes"
    return "\n".join([*lines, f"{runs}: {counted or 'none'}; {seconds:.1f} s"])


def _depth(row: Row) -> int:
    """The position of a row's level from the model down."""
    return LEVELS.index(row.level) if row.level in LEVELS else 0


def _worst(group: Sequence[Row]) -> Row:
    return max(group, key=lambda row: (_severity(row), row.difference or 0.0))


def _severity(row: Row) -> int:
    return list(Status).index(row.status)


def _line(group: Sequence[Row]) -> str:
    worst = _worst(group)
    text = f"{worst.status:9} {worst.level:7} {worst.pass_name}"
    if worst.kernel is not None:
        same = sum(row.status is worst.status for row in group)
        text += f", kernel {worst.kernel}" + (f" and {same - 1} more" if same > 1 else "")
    if worst.difference is not None and worst.allowed is not None:
        text += f": difference {worst.difference:.2g}, allowed {worst.allowed:.2g}"
    least = min((row.covered for row in group if row.covered is not None), default=1.0)
    if least < 1:
        text += f", at least {least:.1%} of a result compared"
    note = " ".join(filter(None, (worst.value, worst.note)))
    return text + (f" ({note})" if note else "")
