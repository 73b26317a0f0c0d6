"""The tuner: faults of candidates cost these alone, runs repeat, resuming repeats no trial."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.records.database import Database
from stepwell.tools.tuning.fleet import Built, LocalRunner
from stepwell.tools.tuning.report import TuningReport
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import extract_tasks
from stepwell.tools.tuning.tune import planned, tune
from stepwell.tools.tuning.tuner import TaskState
from tests.support.samples import whole

PRODUCT = """
func.func @main(%x: tensor<24x32xf32> {graph.name = "x"}, %w: tensor<32x48xf32> {graph.name = "w"})
    -> (tensor<24x48xf32> {graph.name = "y"}) {
  %h = graph.matmul %x, %w : (tensor<24x32xf32>, tensor<32x48xf32>) -> tensor<24x48xf32>
  func.return %h : tensor<24x48xf32>
}
"""


def product() -> Program:
    ctx = StepwellContext()
    return Program(parse_module(ctx, PRODUCT), ctx)


@pytest.fixture
def runner() -> Generator[LocalRunner]:
    """A runner without a clock; one for all runs of a test, as starting its processes takes longest."""
    yield (made := LocalRunner(clock="model"))
    made.close()


@whole
def test_equal_runs_write_equal_files_and_resuming_repeats_nothing(
    tmp_path: Path, runner: LocalRunner
) -> None:
    def tuned(database: Path, trials: int) -> TuningReport:
        return tune(product(), db=database, trials=trials, runner=runner)

    first, second, third = (tmp_path / f"{name}.jsonl" for name in "abc")
    report = tuned(first, 3)
    tuned(second, 3)
    assert first.read_bytes() == second.read_bytes()
    ahead = LocalRunner(clock="model", jobs=2)
    tune(product(), db=third, trials=3, runner=ahead)
    ahead.close()
    assert third.read_bytes() == first.read_bytes()
    assert sum(report.counts.values()) == 3 and set(report.counts) <= {"ok", "slower", "duplicate", "illegal"}
    first.write_bytes(first.read_bytes() + b'{"v":1,"ki')  # as kill -9 leaves it
    with pytest.warns(UserWarning, match="torn"):
        again = tuned(first, 2)
    content = Database(first).read()
    scripts = Counter(trial.script for trial in content.trials if not trial.confirmed)
    assert sum(again.counts.values()) == 2 and max(scripts.values()) == 1 and len(scripts) == 5
    assert not content.bad and not content.torn


@pytest.mark.skipif(find_spec("optuna") is None, reason="needs optuna: pip install 'stepwell[tune]'")
@pytest.mark.sample(0)
def test_optuna_proposes_the_same_again(tmp_path: Path, runner: LocalRunner) -> None:
    files = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file in files:
        report = tune(product(), db=file, trials=12, runner=runner, search="optuna", seed=3)
        assert sum(report.counts.values()) == 12
    assert files[0].read_bytes() == files[1].read_bytes()
    trials = [trial for trial in Database(files[0]).read().trials if not trial.confirmed]
    assert len({trial.script for trial in trials}) == 12


def test_a_search_whose_package_is_missing(
    tmp_path: Path, runner: LocalRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(StepwellError, match="--search optuna needs optuna") as refused:
        tune(product(), db=tmp_path / "t.jsonl", trials=1, runner=runner, search="optuna")
    assert refused.value.code == "missing-package"


def test_faults_of_candidates_are_statuses_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the chooser's kernel is as fast as the machine, it would be left alone.
    monkeypatch.setattr("stepwell.tools.tuning.tuner.BEYOND_LIMIT", 0.0)
    faults = {0: "crash", 1: "hang", 2: "wrong", 3: "unwritten", 4: "stray"}
    runner = LocalRunner(faults=faults, timeout=1.5)
    try:
        report = tune(product(), db=tmp_path / "t.jsonl", trials=6, runner=runner, seed=1)
    finally:
        runner.close()
    trials = [trial for trial in Database(tmp_path / "t.jsonl").read().trials if not trial.confirmed]
    statuses = {trial.number: trial.status for trial in trials if trial.number < 5}
    measured = {0: "crash", 1: "timeout", 2: "wrong", 3: "unwritten", 4: "crash"}
    unmeasured = ("duplicate", "illegal", "build-error")
    assert all(status in (measured[n], *unmeasured) for n, status in statuses.items()), statuses
    assert sum(statuses[n] == measured[n] for n in statuses) >= 4, statuses
    assert all(trial.why for trial in trials if trial.status not in ("ok", "slower"))
    assert trials[5].status in ("ok", "slower", "noisy", "duplicate", "illegal")
    assert sum(report.counts.values()) == 6


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"time": 0}, "time must be"),
        ({"time": float("nan")}, "time must be"),
        ({"trials": 0}, "trials must be"),
        ({"threads": 0}, "threads must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": 2, "cluster": "local:2"}, "name jobs or a cluster"),
        ({"search": "luck"}, "search must be one of evolve"),
        ({"cost_model": "oracle"}, "cost_model must be one of ridge"),
        ({"db": None}, "this model is no file"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, keywords: dict[str, object], words: str) -> None:
    with pytest.raises(StepwellError) as refused:
        tune(product(), **{"db": tmp_path / "t.jsonl", **keywords})  # pyright: ignore
    assert refused.value.code == "bad-option" and words in refused.value.message
    assert not (tmp_path / "t.jsonl").exists()


def test_nothing_to_tune_and_unknown_nodes(tmp_path: Path) -> None:
    with pytest.raises(StepwellError) as refused:
        tune(product(), db=tmp_path / "t.jsonl", trials=1, kernels=["conv9"])
    assert refused.value.code == "nothing-to-tune" and "conv9" in refused.value.message
    ctx = StepwellContext()
    text = 'func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {\n'
    empty = Program(parse_module(ctx, text + "  func.return %x : tensor<4xf32>\n}"), ctx)
    with pytest.raises(StepwellError) as refused:
        tune(empty, db=tmp_path / "t.jsonl", trials=1)
    assert refused.value.code == "nothing-to-tune"


def test_runners_refuse_what_they_do_not_know() -> None:
    for keywords in ({"device": "moon"}, {"clock": "sun"}, {"faults": {0: "bad luck"}}):
        with pytest.raises(StepwellError):
            LocalRunner(**keywords)  # pyright: ignore


def test_devices_have_no_space_to_search(tmp_path: Path) -> None:
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("cuda:0", lambda: LocalRunner(device="cuda:0")),
        ("webgpu", lambda: tune(product(), db=tmp_path / "t.jsonl", target="webgpu")),
        ("ptx-interpreter", lambda: tune(product(), db=tmp_path / "t.jsonl", device="ptx-interpreter")),
        ("opencl", lambda: planned(product(), (), 1, CompileOptions(target="opencl"))),
    ]
    for device, attempt in attempts:
        with pytest.raises(StepwellError) as refused:
            attempt()
        assert refused.value.code == "nothing-to-tune" and f"nothing to tune on {device}:" in str(
            refused.value
        )
        assert f"stepwell bench MODEL --device {device}" in str(refused.value)
    assert not (tmp_path / "t.jsonl").exists()


def test_open_sizes_are_measured_at_hints_unless_they_are_fixed() -> None:
    text = PRODUCT.replace(
        'tensor<24x32xf32> {graph.name = "x"}',
        'tensor<?x32xf32> {graph.name = "x", graph.dims = #graph.dims<["N", 32]>}',
    )
    text = text.replace(
        '(tensor<24x48xf32> {graph.name = "y"})',
        '(tensor<?x48xf32> {graph.name = "y", graph.dims = #graph.dims<["N", 48]>})',
    )
    text = text.replace("tensor<24x", "tensor<?x")
    ctx = StepwellContext()
    for shapes, sizes in (({}, [1, 7, 64, 1000]), ({"x": (5, 32)}, [5])):
        program = Program(parse_module(ctx, text), ctx)
        (task,) = extract_tasks(program, CompileOptions(input_shapes=shapes)).tasks
        assert [case.outputs[0].shape[0] for case in task.cases] == sizes


@pytest.mark.parametrize(
    ("flops", "bytes", "share", "room"),
    [
        (1_000_000, 10_000, 0.0, 0.03),  # a product
        (10_000, 10_000, 0.0, 0.2),  # a transpose with a function
        (1_000_000, 10_000, 0.6, 0.4),  # a product far below the limit
        (1_000_000, 10_000, 1.05, 0.05),
        (10_000, 10_000, 1.3, 0.2),  # the limit is wrong
    ],
)
def test_kernels_with_room_are_searched_first(flops: int, bytes: int, share: float, room: float) -> None:
    (task,) = extract_tasks(product(), CompileOptions()).tasks
    task = replace(task, flops=flops, bytes=bytes, seconds=1.0)
    state = TaskState(task, Space((), ()), cast(Built, None), share=share)
    assert state.room == pytest.approx(room)
    first = state.expected_drop
    state.gains.append(1.0)
    assert 0 < state.expected_drop < first
    state.gains.append(1.5)
    assert state.expected_drop == pytest.approx(0.5)  # as the last batch gained
