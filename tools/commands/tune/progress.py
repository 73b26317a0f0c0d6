"""The progress of a tuning run: once a second on a terminal, a line a step or a batch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from stepwell.tools.tuning.tuner import Tuner

_REFRESH_SECONDS = 1.0
_LINE_SECONDS = 5.0
"""The least time between two lines about steps, where there is no terminal."""
_SHOWN_TASKS = 12
_TRIALS_A_LINE = 8


class Progress(Protocol):
    """The calls of a run that is shown."""

    def announce(self, step: str) -> None:
        """Show a step that begins."""

    def report(self, tuner: Tuner) -> None:
        """Show the run after a trial."""


@contextmanager
def shown_tuning(time: float | None) -> Generator[Progress]:
    """
    The progress of a run on standard error, from now on.

    Args: `time` is the limit of the whole run in seconds, if it has one.
    """
    if not sys.stderr.isatty():
        yield Lines(sys.stderr)
        return
    from rich.console import Console
    from rich.live import Live

    # No thread refreshes it: a process with threads cannot fork.
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield _Screen(live, time)


class Lines:
    """A line for a step, where some time has passed since the last one, and for each batch of trials."""

    def __init__(self, stream: TextIO):
        self._stream, self._begin, self._last = stream, monotonic(), 0.0
        self.announce("starting")

    def announce(self, step: str) -> None:
        """Print a step, unless one was printed just now."""
        if monotonic() - self._last >= _LINE_SECONDS:
            self._print(step)

    def report(self, tuner: Tuner) -> None:
        """Print what a batch found."""
        if tuner.made % _TRIALS_A_LINE == 0:
            self._print(describe(tuner))

    def _print(self, text: str) -> None:
        self._last = monotonic()
        print(f"{self._last - self._begin:.0f} s: {text}", file=self._stream, flush=True)


class _Screen:
    """The step under way and the kernels, redrawn once a second."""

    def __init__(self, live: Live, time: float | None):
        self._live, self._time = live, time
        self._begin, self._shown = monotonic(), 0.0
        self._tuner: Tuner | None = None
        self.announce("starting")

    def announce(self, step: str) -> None:
        """Show a step."""
        if monotonic() - self._shown < _REFRESH_SECONDS:
            return
        from rich.console import Group

        self._shown = monotonic()
        total = "" if self._time is None else f" of {self._time:g}"
        line = f"{self._shown - self._begin:.0f}{total} s: {step}"
        self._live.update(Group(*([_table(self._tuner)] if self._tuner else []), line), refresh=True)

    def report(self, tuner: Tuner) -> None:
        """Show the kernels."""
        self._tuner = tuner
        self.announce("searching")


def describe(tuner: Tuner) -> str:
    """A line about a run under way."""
    faster = sum(state.ratio > 1.01 for state in tuner.states.values())
    return f"{tuner.made} trials, {faster} of {len(tuner.states)} kernels faster so far"


def _table(tuner: Tuner) -> Table:
    """The kernels with most of the time."""
    from rich.table import Table

    table = Table(title=describe(tuner))
    for column in ("kernel", "share", "now us", "best", "trials", "state"):
        table.add_column(column, justify="left" if column in ("kernel", "state") else "right")
    states = sorted(tuner.states.values(), key=lambda state: -state.task.weight)
    total = sum(state.task.weight for state in states) or 1.0
    for state in states[:_SHOWN_TASKS]:
        task = state.task
        row = [
            task.name[:40],
            f"{task.weight / total:.1%}",
            f"{1e6 * task.seconds:.1f}",
            f"{state.ratio:.2f}",
        ]
        table.add_row(*row, str(len(state.tried)), state.ended or "searching")
    return table
