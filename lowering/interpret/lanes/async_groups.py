"""Groups of asynchronous copies in flight: an open group, and closed ones in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Finish: TypeAlias = Callable[[], None]
"""What stores the elements of a copy when a thread has waited for it."""


class AsyncGroups:
    """The copies that threads which run together have started, and not waited for."""

    def __init__(self) -> None:
        self._open: list[Finish] = []
        self._closed: list[list[Finish]] = []

    def add(self, finish: Finish) -> None:
        """Add a copy to the open group."""
        self._open.append(finish)

    def commit(self) -> None:
        """Close the open group."""
        self._closed.append(self._open)
        self._open = []

    def wait(self, pending: int) -> None:
        """Complete the closed groups but the last ones."""
        done = max(0, len(self._closed) - pending)
        complete, self._closed = self._closed[:done], self._closed[done:]
        for group in complete:
            for finish in group:
                finish()
