"""Runs that end early: by the time that they are given, here by a clock of the test, or by a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections import Counter
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import cast

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.runtime.errors import StepwellError
from stepwell.tools.commands.tune.progress import Lines
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.records.database import Database
from stepwell.tools.tuning import clock, processes, tuner
from stepwell.tools.tuning import tune as tuning
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.fleet import Built, LocalRunner
from stepwell.tools.tuning.tasks import extract_tasks

_CANDIDATE_SECONDS = 3.0
_THREE = """
func.func @main(%x: tensor<8x16xf32> {graph.name = "x"}, %w: tensor<16x24xf32> {graph.name = "w"})
    -> (tensor<24x8xf32> {graph.name = "a"}, tensor<8x24xf32> {graph.name = "b"}) {
  %h = graph.matmul %x, %w : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %s = graph.softmax %h axis 1 : tensor<8x24xf32> -> tensor<8x24xf32>
  %t = graph.transpose %s perm [1, 0] : tensor<8x24xf32> -> tensor<24x8xf32>
  func.return %t, %s : tensor<24x8xf32>, tensor<8x24xf32>
}
"""
_ENDLESS = """
import sys
from tests.unit.tools.tuning.test_tuner import product
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.tune import tune
tune(product(), db=sys.argv[1], trials=100_000, runner=LocalRunner(clock="model"))
"""


class _Timed(LocalRunner):
    """A runner by whose clock each build takes seconds."""

    def __init__(self) -> None:
        super().__init__(clock="model")
        self.now = 100.0

    def build(self, script: str) -> Built:
        self.now += _CANDIDATE_SECONDS
        return super().build(script)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seconds", [20.0, 5.0])
def test_a_run_ends_with_its_time_and_one_candidate(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, ctx = _Timed(), StepwellContext()
    begin = runner.now
    for module in (clock, tuner, processes):
        monkeypatch.setattr(module, "monotonic", lambda: runner.now)
    try:
        report = tuning.tune(
            Program(parse_module(ctx, _THREE), ctx), db=tmp_path / "t.jsonl", time=seconds, runner=runner
        )
    finally:
        runner.close()
    assert runner.now - begin <= 1.05 * seconds + _CANDIDATE_SECONDS
    assert report.seconds == runner.now - begin
    trials = [trial for trial in Database(tmp_path / "t.jsonl").read().trials if not trial.confirmed]
    assert len(trials) == sum(report.counts.values())
    assert bool(trials) == (seconds == 20.0)  # of 5 seconds, the kernels of the choosers take all


def test_a_model_that_compiles_too_long_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, now = StepwellContext(), 100.0
    steps: list[str] = []

    def announce(step: str) -> None:
        nonlocal now
        now += 2.0
        steps.append(step)

    monkeypatch.setattr(clock, "monotonic", lambda: now)
    with pytest.raises(StepwellError) as error:
        program = Program(parse_module(ctx, _THREE), ctx)
        tuning.tune(program, db=tmp_path / "t.jsonl", time=9.0, announce=announce)
    assert error.value.code == "timed-out" and "nothing was tried" in error.value.message
    assert len(steps) == 5 and all(step.startswith("compiling the model") for step in steps)
    assert Database(tmp_path / "t.jsonl").read().tasks == {}


def test_a_request_ends_with_the_run(tmp_path: Path) -> None:
    runner = LocalRunner()
    try:
        runner.end_at(monotonic() - 1)
        ctx = StepwellContext()
        task, *_ = extract_tasks(Program(parse_module(ctx, _THREE), ctx), CompileOptions()).tasks
        with pytest.raises(clock.OutOfTime):
            runner.choose(task, Candidate())
    finally:
        runner.close()


def test_lines_tell_steps_and_batches() -> None:
    stream, made = StringIO(), [8]
    lines = Lines(stream)
    lines.announce("compiling the model")  # within a second of the line before
    lines.report(cast("tuner.Tuner", SimpleNamespace(made=made[0], states={})))
    assert stream.getvalue() == "0 s: starting\n0 s: 8 trials, 0 of 0 kernels faster so far\n"


@pytest.mark.slow
@pytest.mark.parametrize("lines", [2, 6, 11])
def test_a_killed_run_goes_on_where_it_was(lines: int, tmp_path: Path) -> None:
    from tests.unit.tools.tuning.test_tuner import product

    path = tmp_path / "t.jsonl"
    process = subprocess.Popen([sys.executable, "-c", _ENDLESS, str(path)])
    try:
        end = monotonic() + 120
        while (not path.exists() or path.read_bytes().count(b"\n") < lines) and monotonic() < end:
            sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = path.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert whole.count(b"\n") >= lines
    runner = LocalRunner(clock="model")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a torn line, if there is one
            report = tuning.tune(product(), db=path, trials=3, runner=runner)
    finally:
        runner.close()
    assert path.read_bytes().startswith(whole)
    content = Database(path).read()
    scripts = Counter(trial.script for trial in content.trials if not trial.confirmed)
    assert max(scripts.values()) == 1 and not content.bad
    assert len(scripts) == whole.count(b'"kind":"trial"') + sum(report.counts.values())
