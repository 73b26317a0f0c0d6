"""Workers that measure over RPC: sessions of a server on this machine, which needs the runtime alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepwell.runtime import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import host_target
from stepwell.tools.records.database import Database
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.fleets.cluster import check_address
from stepwell.tools.tuning.fleets.rpc_cluster import RpcCluster
from stepwell.tools.tuning.tune import tune
from tests.support.samples import whole
from tests.unit.tools.tuning.test_tuner import product

has_tls = pytest.mark.skipif(find_spec("cryptography") is None, reason="needs stepwell[rpc]: cryptography")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """The address of a server on loopback, whose secrets are in the settings of this test."""
    from stepwell.runtime.rpc.identity import Address, own_certificate, own_token
    from stepwell.runtime.rpc.server import RpcServer, ServerOptions

    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path / "settings"))
    server = RpcServer(ServerOptions(Address("127.0.0.1", 0), own_token()[0], own_certificate()))
    yield f"rpc://127.0.0.1:{server.address.port}"
    server.close()


@pytest.fixture
def runner() -> Generator[LocalRunner]:
    yield (made := LocalRunner(clock="model"))
    made.close()


@pytest.mark.parametrize("address", ["rpc://", "rpc://127.0.0.1:1?k=2", "rpc://127.0.0.1:1,rpc://"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(StepwellError) as refused:
        check_address(address)
    assert refused.value.code == "bad-option"


@whole
@pytest.mark.parametrize("address", ["a", pytest.param("a,b", marks=pytest.mark.slow)])
def test_candidates_are_measured_in_sessions_and_recorded_once(
    address: str, tmp_path: Path, runner: LocalRunner
) -> None:
    """A candidate that crashes its session, and one with wrong results, cost these alone."""
    runner.faults = {0: "crash", 2: "wrong"}
    trials = _tuned(RpcCluster(address, "model", connect=lambda url: rpc.local()), runner, tmp_path, 4)
    assert [trials[0], trials[2]] == ["crash", "wrong"]
    assert {trials[1], trials[3]} <= {"ok", "slower", "duplicate"}


@has_tls
def test_a_server_measures(url: str, tmp_path: Path, runner: LocalRunner) -> None:
    runner.faults = {1: "crash"}
    trials = _tuned(RpcCluster(url, "model"), runner, tmp_path, 3)
    assert trials[1] == "crash" and {trials[0], trials[2]} <= {"ok", "slower", "duplicate"}


def _tuned(cluster: RpcCluster, runner: LocalRunner, folder: Path, count: int) -> dict[int, str]:
    """The statuses of trials by number, each of which is recorded once, for this machine."""
    try:
        report = tune(product(), db=folder / "t.jsonl", trials=count, runner=runner, cluster=cluster)
    finally:
        cluster.close()
    content = Database(folder / "t.jsonl").read()
    trials = [trial for trial in content.trials if not trial.confirmed]
    assert sum(report.counts.values()) == len(trials) == count
    assert max(Counter(trial.script for trial in trials).values()) == 1
    mine = {(trial.machine, trial.target) for trial in trials if trial.status in ("ok", "slower")}
    assert mine <= {(machine_name(), target_digest(host_target()))}
    return {trial.number: trial.status for trial in trials}


@has_tls
def test_a_server_that_is_gone(url: str, tmp_path: Path, runner: LocalRunner) -> None:
    gone = url.rpartition(":")[0] + ":1"
    with pytest.raises(StepwellError) as refused:
        tune(product(), db=tmp_path / "t.jsonl", trials=1, runner=runner, cluster=gone)
    assert refused.value.code in ("no-server", "bad-token", "bad-certificate")
