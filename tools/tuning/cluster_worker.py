"""The work of a cluster's worker: a candidate is chosen, built, checked and timed beside the base."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.tools.records.record import TaskRecord
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


_runners: dict[str, LocalRunner] = {}
_open: dict[tuple[str, int, str, bool], _Open] = {}


def try_candidate(job: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on a candidate, with the machine's name, as values that travel."""
    runner = _runners.setdefault(job["clock"], LocalRunner(clock=job["clock"]))
    number = int(job["number"])
    if job["fault"] is not None:
        runner.faults[number] = job["fault"]
    with _alone():
        measured, task = _measured(job, runner, number)
    target = "" if task is None else target_digest(task.target)
    row = {**asdict(measured), "ratio": None}
    return {
        "measured": row, "ratio": measured.ratio, "machine": machine_name(), "target": target,
        "task": job["task"]["task"],
    }  # fmt: skip


def _measured(job: Mapping[str, Any], runner: LocalRunner, number: int) -> tuple[Measured, Task | None]:
    try:
        opened = _opened(job, runner)
        if opened is None:
            return Measured("build-error", "the kernel does not run alone on this machine"), None
        choice = runner.choose(opened.task, candidate_of(job["script"]))
        built = runner.build(choice.script)
        found = opened.measurement.measure(opened.task, opened.space, opened.base, built, number)
        return found, opened.task
    except Failed as failed:
        return Measured("build-error", failed.why), None
    except StepwellError as error:
        status = "illegal" if error.code in ("bad-schedule", "unsupported") else "build-error"
        return Measured(status, error.message[:300]), None


def _opened(job: Mapping[str, Any], runner: LocalRunner) -> _Open | None:
    """The task of a job, of which the base is built and timed once a process."""
    record = TaskRecord(**job["task"])
    key = record.task, int(job["threads"]), str(job["clock"]), bool(job["exact"])
    if key not in _open:
        task = task_of_record(record, key[1])
        if task is None:
            return None
        choice = runner.choose(task, Candidate())
        base = runner.build(choice.script)
        measurement = Measurement(runner, key[3])
        task.seconds = measurement.time_base(task, base)
        _open[key] = _Open(task, Space(choice.forms, choice.tiles), base, measurement)
    return _open[key]


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
