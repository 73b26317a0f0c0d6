"""The progress bar of long work on a terminal's standard error: shown after a second, never in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the compiler, which commands that compile nothing do without
    from stepwell.tools.driver.image import Progress

_PATIENCE_SECONDS = 1.0


@contextmanager
def shown_progress() -> Generator[Progress | None]:
    """A progress callback that draws a bar once the work has taken a second; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    start = perf_counter()
    with Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        tasks: dict[str, TaskID] = {}

        def report(step: str, done: int, total: int) -> None:
            if perf_counter() - start < _PATIENCE_SECONDS:
                return
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done, total=total, refresh=True)

        yield report
