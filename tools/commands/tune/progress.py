"""The progress of a tuning run: once a second on a terminal, a line a batch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from stepwell.tools.tuning.tuner import Tuner

_REFRESH_SECONDS = 1.0
_SHOWN_TASKS = 12
_TRIALS_A_LINE = 8


@contextmanager
def shown_tuning() -> Generator[Callable[[Tuner], None]]:
    """A function to call after each trial, which shows the run on standard error."""
    if not sys.stderr.isatty():
        yield _print_line
        return
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        shown = [0.0]

        def show(tuner: Tuner) -> None:
            if monotonic() - shown[0] >= _REFRESH_SECONDS:
                shown[0] = monotonic()
                live.update(_table(tuner), refresh=True)

        yield show


def _print_line(tuner: Tuner) -> None:
    if tuner.made % _TRIALS_A_LINE == 0:
        print(describe(tuner), file=sys.stderr, flush=True)


def describe(tuner: Tuner) -> str:
    """A line about a run under way."""
    faster = sum(state.ratio > 1.01 for state in tuner.states.values())
    return f"{tuner.made} trials, {faster} of {len(tuner.states)} kernels faster so far"


def _table(tuner: Tuner) -> Table:
    """The kernels with most of the time."""
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
