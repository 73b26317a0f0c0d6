"""Clusters of Dask: each candidate is recorded once, also where a worker dies; addresses need TLS."""

from __future__ import annotations

import os
import signal
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.tools.records.database import Database
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.fleets.cluster import Answer, Cluster, Security, check_address
from stepwell.tools.tuning.measuring import Measured
from stepwell.tools.tuning.tune import tune
from stepwell.tools.tuning.tuner import Tuner
from tests.unit.tools.tuning.test_tuner import product

has_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="needs distributed: pip install 'stepwell[cluster]'"
)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("tcp://10.0.0.1:8786", "insecure-address"),
        ("tls://10.0.0.1:8786", "insecure-address"),
        ("tcp://pool.example:8786", "insecure-address"),
        ("local:0", "bad-option"),
        ("local:many", "bad-option"),
        ("http://127.0.0.1:1", "bad-option"),
        ("", "bad-option"),
    ],
)
def test_an_address_is_refused_before_any_work(address: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(StepwellError) as refused:
        tune(product(), db=tmp_path / "t.jsonl", trials=1, cluster=address)
    assert refused.value.code == code
    assert not (tmp_path / "t.jsonl").exists()


def test_addresses_that_are_protected_or_here() -> None:
    assert check_address("local:2") == 2
    for address in ("tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:1"):
        assert check_address(address) is None
    assert check_address("tls://10.0.0.1:8786", Security("ca.pem", "cert.pem", "key.pem")) is None


@has_dask
@pytest.mark.sample(0)
@pytest.mark.parametrize("kills", [0, 1])
def test_each_trial_is_recorded_once(kills: int, tmp_path: Path) -> None:
    runner, cluster = LocalRunner(clock="model"), Cluster("local:2", clock="model")
    left = [kills]

    def kill_a_worker(tuner: Tuner) -> None:
        if left[0]:
            left[0] -= 1
            pids = list(cluster.client.run(os.getpid).values())
            os.kill(pids[0], signal.SIGKILL)

    try:
        report = tune(
            product(),
            db=tmp_path / "t.jsonl",
            trials=12,
            runner=runner,
            cluster=cluster,
            report=kill_a_worker,
        )
    finally:
        cluster.close()
        runner.close()
    content = Database(tmp_path / "t.jsonl").read()
    trials = [trial for trial in content.trials if not trial.confirmed]
    assert sum(report.counts.values()) == len(trials) == 12 and not left[0]
    assert max(Counter(trial.script for trial in trials).values()) == 1
    assert len({trial.number for trial in trials}) == 12
    assert {trial.status for trial in trials} <= {"ok", "slower", "duplicate", "illegal", "build-error"}
    assert not content.bad and not content.torn


@has_dask
@pytest.mark.sample(0)
def test_a_candidate_that_kills_workers_and_times_that_are_none() -> None:
    cluster = Cluster("local:1", clock="model")
    try:
        future = cluster.client.submit(os._exit, 1, pure=False)
        answer = cluster.answer(7, "s", future)
        assert answer == Answer(7, "s", Measured("crash", "its worker died 3 times"))
        for us, base_us, words in (
            (float("nan"), 1.0, "times that are none"),
            (1.0, 9.0, "9.0 times as slow"),
        ):
            row = {
                "measured": {"status": "ok", "us": us, "base_us": base_us, "code": "c"},
                "ratio": (1.1, 1.0, 1.2), "machine": "m", "target": "t", "task": "9f",
            }  # fmt: skip
            first = {**row, "measured": {"status": "ok", "us": 1.0, "base_us": 1.0}}
            assert cluster.answer(1, "s", cluster.client.submit(dict, first)).measured.status == "ok"
            found = cluster.answer(1, "s", cluster.client.submit(dict, row, pure=False)).measured
            assert found.status == "noisy" and words in found.why
    finally:
        cluster.close()
