"""The work of a cluster's worker: a candidate is chosen, built, checked and timed beside the base."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.records.record import TaskRecord
from stepwell.tools.tuning.ahead import Prepared
from stepwell.tools.tuning.candidate import Candidate, candidate_of
from stepwell.tools.tuning.fleet import Built, Failed, LocalRunner
from stepwell.tools.tuning.measuring import Measured, Measurement
from stepwell.tools.tuning.recheck import task_of_record
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task


@dataclass
class _Open:
    """A task on a worker: the base kernel, built and timed here."""

    task: Task
    space: Space
    base: Built
    measurement: Measurement


class Bench:
    """A runner, with the tasks for it; each base is built and timed once."""

    def __init__(self, runner: LocalRunner, machine: str, target: TargetDescription | None = None):
        """Args: `target` is the target of the machine where the runner measures; None for this machine."""
        self._runner, self._machine, self._target = runner, machine, target
        self._open: dict[tuple[str, int, bool], _Open] = {}

    def tried(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The verdict on a candidate, with the machine's name, as values that travel."""
        (row,) = self.tried_all([job])
        return row

    def tried_all(self, jobs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """The verdicts on candidates of a task, in order; while one is measured, others may be compiled."""
        prepared: list[Prepared | None] = [None] * len(jobs)
        with suppress(Failed, StepwellError):  # which the first candidate meets again, as its verdict
            if len(jobs) > 1 and (opened := self._opened(jobs[0])) is not None:
                candidates = [candidate_of(job["script"]) for job in jobs]
                prepared = [*self._runner.prepared(opened.task, candidates)]
        for job, each in zip(jobs, prepared, strict=True):
            yield self._tried(job, each)

    def _tried(self, job: Mapping[str, Any], prepared: Prepared | None) -> dict[str, Any]:
        number = int(job["number"])
        if job["fault"] is not None:
            self._runner.faults[number] = job["fault"]
        measured, task = self._measured(job, number, prepared)
        target = "" if task is None else target_digest(task.target)
        row = {**asdict(measured), "ratio": None}
        return {
            "measured": row, "ratio": measured.ratio, "machine": self._machine, "target": target,
            "task": job["task"]["task"],
        }  # fmt: skip

    def _measured(
        self, job: Mapping[str, Any], number: int, prepared: Prepared | None
    ) -> tuple[Measured, Task | None]:
        runner = self._runner
        try:
            opened = self._opened(job)
            if opened is None:
                return Measured("build-error", "the kernel does not run alone on this machine"), None
            if prepared is None:
                (prepared,) = runner.prepared(opened.task, [candidate_of(job["script"])])
            built = prepared.build(prepared.choose().script)
            found = opened.measurement.measure(opened.task, opened.space, opened.base, built, number)
            return found, opened.task
        except Failed as failed:
            return Measured("build-error", failed.why), None
        except StepwellError as error:
            if error.code == "no-server":
                raise
            status = "illegal" if error.code in ("bad-schedule", "unsupported") else "build-error"
            return Measured(status, error.message[:300]), None

    def _opened(self, job: Mapping[str, Any]) -> _Open | None:
        """The task of a job."""
        record, runner = TaskRecord(**job["task"]), self._runner
        key = record.task, int(job["threads"]), bool(job["exact"])
        if key not in self._open:
            task = task_of_record(record, key[1], self._target)
            if task is None:
                return None
            choice = runner.choose(task, Candidate())
            base = runner.build(choice.script)
            measurement = Measurement(runner, key[2])
            task.seconds = measurement.time_base(task, base)
            self._open[key] = _Open(task, Space(choice.forms, choice.tiles), base, measurement)
        return self._open[key]


_benches: dict[str, Bench] = {}


def try_candidate(job: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict of this process on a candidate, as values that travel."""
    clock = str(job["clock"])
    if clock not in _benches:
        _benches[clock] = Bench(LocalRunner(clock=clock), machine_name())
    with _alone():
        return _benches[clock].tried(job)


@contextmanager
def _alone() -> Generator[None]:
    """Let no other worker of this user measure on this machine meanwhile."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:
        yield
        return
    path = Path(gettempdir()) / f"stepwell-measure-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)
