"""Tables of patterns that backends bring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

from xdsl.ir import Operation

from stepwell.patterns.groups import Check
from stepwell.patterns.nodes import Pattern
from stepwell.patterns.read_text import TableEntry
from stepwell.runtime.backends import find_backend


def names_backend(table: str) -> bool:
    """Whether the `table` option of `partition` is a backend's name, not a file."""
    return bool(table) and not Path(table).suffix and not Path(table).exists()


def entries_of_backend(name: str) -> list[TableEntry]:
    """The table of a backend. Raises: StepwellError `unknown-backend`, `missing-package`."""
    claimant = cast(Claimant, find_backend(name))
    return [
        TableEntry(row, pattern if isinstance(pattern, Pattern) else pattern(), check)
        for row, pattern, check in claimant.table
    ]


class Claimant(Protocol):
    """
    The attributes and methods of a backend that `partition` uses (`stepwell.lowering.backends.Backend`).
    """

    name: str
    table: Sequence[tuple[str, Pattern | Callable[[], Pattern], Check | None]]

    def supports(self, op: Operation) -> bool:
        """Whether the backend computes an op without a pattern."""
        ...
