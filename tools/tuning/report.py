"""The report of a tuning run: what was found of each kernel, and of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from stepwell.tools.records.database import best_of, live_trials
from stepwell.tools.records.record import Trial
from stepwell.tools.report import shortened, table_text

_NAME_CHARS = 40
PLAN_IS_USED = " is used"
"""The end of a note about choices for the whole model that compilations take."""


@dataclass(frozen=True)
class TaskReport:
    """The result of a kernel."""

    task: str
    name: str
    share: float
    """Of the model's time in kernels."""
    base_us: float
    us: float
    gain: float
    trials: int
    state: str
    space: int = 0
    """The number of candidates one decision away from the chooser's."""

    def row(self) -> list[str]:
        """The cells of the table."""
        numbers = [f"{self.share:.1%}", f"{self.base_us:.1f}", f"{self.us:.1f}", f"{self.gain:.2f}"]
        return [shortened(self.name, _NAME_CHARS), *numbers, str(self.trials), self.state]


@dataclass(frozen=True)
class TuningReport:
    """The results of a tuning run."""

    model: str
    database: str
    tasks: Sequence[TaskReport]
    gain: tuple[float, float, float] | None
    """The model's time without the database over that with it, with a 95 % interval; None: not compared."""
    records: Sequence[Trial]
    """All trials of these kernels on this machine, of earlier runs too."""
    counts: Mapping[str, int]
    filtered: Mapping[str, int]
    skipped: Mapping[str, str]
    seconds: float
    correlation: Mapping[str, float]
    """The rank correlation of the cost model's predictions outside of its training set, by task."""
    notes: Sequence[str] = ()
    threads: int = 1

    def best(self, task: str) -> Trial | None:
        """The best confirmed trial of a task; None where the chooser's kernel stays."""
        return best_of(live_trials([trial for trial in self.records if trial.task == task]))

    def __str__(self) -> str:
        head = ["kernel", "share", "now us", "best us", "gain", "trials", "state"]
        rows = [task.row() for task in sorted(self.tasks, key=lambda task: -task.share)]
        lines = [table_text(head, rows, numbers=range(1, 6))] if rows else []
        lines += [
            f"not measured: {len(self.skipped)} kernels: {why}" for why in list(self.skipped.values())[:1]
        ]
        return "\n".join([*lines, *self._ends(), *self.notes])

    def _ends(self) -> list[str]:
        counted = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        trials = f"{sum(self.counts.values())} trials" + (f": {counted}" if counted else "")
        if self.gain is None:
            is_planned = any(note.endswith(PLAN_IS_USED) for note in self.notes)
            end = "; no kernel gains" if is_planned else "; nothing gains: compilations stay as they are"
            return [f"{trials}{end}"]
        median, low, high = self.gain
        return [f"model {median:.2f} ({low:.2f}-{high:.2f}) times as fast; {trials}"]

    def to_json(self) -> dict[str, object]:
        """The report as values of JSON."""
        whole = asdict(self)
        whole["records"] = len(self.records)
        return whole
