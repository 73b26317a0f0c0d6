"""The interface of fleets, the jobs that travel to their machines, and the verdicts that come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any, Self

from stepwell.tools.tuning.measuring import Measured
from stepwell.tools.tuning.tasks import Task

RPC = "rpc://"
LOST = 2
"""A candidate whose worker dies goes to other workers so many times."""
_MOST_TIMES_OFF = 3.0
"""The times of a machine's base kernel differ by no larger factor from its first ones."""


@dataclass(frozen=True)
class Batch:
    """Numbered schedules of a task, to be tried."""

    task: Task
    scripts: Sequence[tuple[int, str]]
    faults: Mapping[int, str] = field(default_factory=dict[int, str])
    """Faults that candidates are made to have, by number, for tests of what isolates them."""
    exact: bool = False
    """Whether only candidates with the bits of the untuned kernel are right."""

    def jobs(self, clock: str) -> list[dict[str, Any]]:
        """The schedules as values that travel to workers."""
        common = {"task": asdict(self.task.record), "threads": self.task.threads}
        common |= {"clock": clock, "exact": self.exact}
        return [
            {**common, "number": number, "script": script, "fault": self.faults.get(number)}
            for number, script in self.scripts
        ]


@dataclass(frozen=True)
class Answer:
    """The verdict of a worker on a candidate, and the machine that it is for."""

    number: int
    script: str
    measured: Measured
    machine: str | None = None
    target: str | None = None


class Fleet(ABC):
    """
    Processes or machines that try candidates, each against the untuned kernel on its own machine.

    `submit` gives a future of all verdicts on a batch, `tried` each as it comes. A candidate whose worker is
    lost goes to another one twice, and is a crash then. Records are written by the process that submits.
    """

    _queue: ThreadPoolExecutor | None = None

    def submit(self, batch: Batch) -> Future[list[Answer]]:
        """The verdicts on a batch, once all are there; batches are tried in the order of their submission."""
        if self._queue is None:
            self._queue = ThreadPoolExecutor(1)
        return self._queue.submit(lambda: list(self.tried(batch)))

    @abstractmethod
    def tried(self, batch: Batch) -> Iterator[Answer]:
        """The verdicts on a batch, as workers finish. Raises: StepwellError."""

    def close(self) -> None:
        """Leave the machines, and end the processes of this one; batches that were not begun are dropped."""
        if self._queue is not None:
            self._queue.shutdown(wait=True, cancel_futures=True)
            self._queue = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Verdicts:
    """The verdicts of workers on candidates; times that cannot be are none."""

    def __init__(self) -> None:
        self._first_us: dict[tuple[str, str | None], float] = {}

    def of(self, number: int, script: str, row: Mapping[str, Any]) -> Answer:
        """The verdict that a worker sent."""
        measured = Measured(**row["measured"])
        if row["ratio"] is not None:
            measured = replace(measured, ratio=(row["ratio"][0], row["ratio"][1], row["ratio"][2]))
        machine, target = str(row["machine"]), str(row["target"])
        if (nonsense := self._nonsense(measured, machine, row["task"])) is not None:
            measured = Measured("noisy", f"{machine} reports {nonsense}", code=measured.code)
        return Answer(number, script, measured, machine, target)

    def _nonsense(self, measured: Measured, machine: str, task: str) -> str | None:
        """The fault of the times of a worker; None where nothing is."""
        if measured.ratio is None:
            return None
        times = (*measured.ratio, measured.us, measured.base_us)
        if not all(isfinite(time) and time > 0 for time in times):
            return f"times that are none: {', '.join(f'{time:g}' for time in times)}"
        first = self._first_us.setdefault((machine, task), measured.base_us)
        off = max(first / measured.base_us, measured.base_us / first)
        return f"a base kernel {off:.1f} times as slow or fast as before" if off > _MOST_TIMES_OFF else None


def lost(number: int, script: str, who: str, why: str = "") -> Answer:
    """The verdict on a candidate whose workers died. Args: `who` is lost, as in `worker died`."""
    text = f"its {who} {LOST + 1} times" + (f": {why}" if why else "")
    return Answer(number, script, Measured("crash", text[:300]))
