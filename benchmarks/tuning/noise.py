"""Gains where there are none: copies of a kernel, in other places of memory."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

import onnx

from benchmarks.cases.movement import MOVEMENT
from benchmarks.tuning.results import Result, Results
from benchmarks.tuning.searches import continued
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.measuring import Measurement
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, extract_tasks

_COPIES = 20


def false_gains(results: Results, folder: Path, runs: int) -> None:
    """Count the runs that find a gain among twenty copies of a kernel, alone and beside a busy process."""
    for name, is_busy in (("equal candidates", False), ("equal candidates beside a busy process", True)):
        if results.is_known("noise", name, 1, runs):
            continue
        with _neighbour(is_busy), continued(results, name):
            _add_runs(results, name, folder, runs)


@contextmanager
def _neighbour(is_busy: bool) -> Generator[None]:
    """A busy process beside the measurement, if asked for."""
    process = Popen([sys.executable, "-c", "while True: pass"]) if is_busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def _add_runs(results: Results, name: str, folder: Path, runs: int) -> None:
    """Add the runs that are not known yet, a result after each."""
    case = next(case for case in MOVEMENT if case.name.startswith("transpose"))
    path = folder / "same.onnx"
    onnx.save(case.model(), str(path))
    (task,) = extract_tasks(path, CompileOptions()).tasks
    known = results.kept.get(("noise", name, 1))
    first, found = (0, 0.0) if known is None else (int(known.seconds), known.found)
    for turn in range(first, runs):
        runner = LocalRunner()
        try:
            gains = _gains_of_copies(runner, task)
        finally:
            runner.close()
        found += gains > 0
        print(f"run {turn}: {gains} of {_COPIES} copies gain", flush=True)
        text = f"{turn + 1} runs of {_COPIES} copies"
        results.add(Result("noise", name, 1, turn + 1, found, text=text))


def _gains_of_copies(runner: LocalRunner, task: Task) -> int:
    """The number of copies of a kernel that would be confirmed as faster than it."""
    measurement = Measurement(runner)
    choice = runner.choose(task, Candidate())
    base, space = runner.build(choice.script), Space(choice.forms, choice.tiles)
    task.seconds = measurement.time_base(task, base)
    copies = [replace(base, digest=f"{base.digest}{number}") for number in range(_COPIES)]
    faster = [c for c in copies if measurement.measure(task, space, base, c, -1).status == "ok"]
    return sum(measurement.again(task, space, base, copy).status == "ok" for copy in faster)
