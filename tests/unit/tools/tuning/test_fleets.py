"""Fleets: processes here, workers of Dask and servers of sessions try one batch by one interface."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepwell import tuning
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.fleets.interface import LOST, Answer, Batch, Fleet, lost
from stepwell.tools.tuning.measuring import Measured
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import extract_tasks
from tests.unit.tools.tuning.test_tuner import product

has_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs stepwell[cluster]")
has_tls = pytest.mark.skipif(find_spec("cryptography") is None, reason="needs stepwell[rpc]: cryptography")


@contextmanager
def servers(count: int, folder: Path) -> Generator[str]:
    """The address of some processes of `stepwell rpc serve` on this machine."""
    settings = os.environ | {}
    settings["STEPWELL_CONFIG"] = str(folder / "settings")
    words = [sys.executable, "-m", "stepwell", "rpc", "serve"]
    with ExitStack() as stack:
        ports: list[str] = []
        for _ in range(count):
            process = subprocess.Popen(words, env=settings, text=True, stdout=subprocess.PIPE)
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found is not None
            ports.append(found[1])
        yield ",".join(f"rpc://127.0.0.1:{port}" for port in ports)


def batch(count: int) -> Batch:
    """Candidates next to the chooser's of a product, one of which crashes."""
    (task,) = extract_tasks(product(), CompileOptions()).tasks
    runner = LocalRunner(clock="model")
    try:
        choice = runner.choose(task, Candidate())
        near = Space(choice.forms, choice.tiles).neighbours(choice.candidate)
        scripts = list(
            dict.fromkeys(runner.choose(task, each).script for each, _ in zip(near, range(9), strict=False))
        )
    finally:
        runner.close()
    return Batch(task, list(enumerate(scripts[:count])), {1: "crash"})


@pytest.fixture(
    name="fleet", params=[2, pytest.param("dask", marks=has_dask), pytest.param("rpc", marks=has_tls)]
)
def _fleet(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    """Two workers on this machine, of each kind."""
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path / "settings"))
    with ExitStack() as stack:
        where: int | str = request.param if request.param != "dask" else "local:2"
        if where == "rpc":
            where = stack.enter_context(servers(2, tmp_path))
        yield stack.enter_context(tuning.fleet(where, clock="model"))


@pytest.mark.slow
def test_two_workers_answer_a_batch(fleet: Fleet) -> None:
    """The future has each verdict once, for this machine; a second batch follows the first."""
    tried = batch(4)
    first, second = fleet.submit(tried), fleet.submit(batch(2))
    answers = sorted(first.result(timeout=300), key=lambda answer: answer.number)
    assert [(answer.number, answer.script) for answer in answers] == list(tried.scripts)
    assert answers[1].measured.status == "crash"
    assert {answers[n].measured.status for n in (0, 2, 3)} <= {"ok", "slower"}
    assert {answer.machine for answer in answers} == {machine_name()}
    assert sorted(answer.number for answer in second.result(timeout=300)) == [0, 1]


class _Echo(Fleet):
    """A fleet that knows the verdicts, and fails on an empty batch."""

    def tried(self, batch: Batch) -> Iterator[Answer]:
        if not batch.scripts:
            raise StepwellError("no-server", None, "the workers do not answer")
        yield from (Answer(number, script, Measured("slower")) for number, script in batch.scripts)


def test_a_future_has_all_verdicts_or_the_error() -> None:
    tried = batch(0)
    with _Echo() as fleet:
        full = Batch(tried.task, [(3, "a"), (4, "b")])
        futures = [fleet.submit(full), fleet.submit(tried)]
        assert [answer.number for answer in futures[0].result()] == [3, 4]
        with pytest.raises(StepwellError, match="do not answer"):
            futures[1].result()


def test_a_candidate_that_is_lost_is_a_crash() -> None:
    answer = lost(7, "s", "machine was lost", "it burns")
    assert answer.measured == Measured("crash", f"its machine was lost {LOST + 1} times: it burns")


@pytest.mark.parametrize(("where", "code"), [("tcp://10.0.0.1:1", "insecure-address"), (0, "bad-option")])
def test_a_fleet_that_cannot_be(where: int | str, code: str) -> None:
    with pytest.raises(StepwellError) as refused:
        tuning.fleet(where)
    assert refused.value.code == code
