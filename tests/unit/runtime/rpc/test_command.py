"""`stepwell rpc serve` and `stepwell run --on`, as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.identity import Address, address_of_url
from tests.unit.runtime.rpc.test_local import SOFTMAX

COMMAND = [sys.executable, "-m", "stepwell"]


def test_a_server_runs_an_artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed")
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path))
    stepwell.compile(stepwell.parse(SOFTMAX)).save(tmp_path / "m.stepwell")
    server = subprocess.Popen([*COMMAND, "rpc", "serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        first = server.stdout.readline()
        assert first.startswith("listening on 127.0.0.1:")
        url = f"rpc://{first.split()[-1]}"
        command = [*COMMAND, "run", str(tmp_path / "m.stepwell"), "--on", url, "--repeat", "10"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        assert f"10 runs on {url}" in shown
        server.terminate()
        rest = server.stdout.read()
        assert "fingerprint " in rest and f"token in {tmp_path}" in rest
        assert (tmp_path / "rpc-token").read_text() not in first + rest
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


def test_addresses() -> None:
    assert address_of_url("rpc://127.0.0.1:9190") == Address("127.0.0.1", 9190)
    assert str(address_of_url("rpc://[::1]:9190")) == "[::1]:9190"
    for wrong in (
        "http://a:1",
        "rpc://a",
        "rpc://:1",
        "rpc://a:b",
        "rpc://a:1/x",
        "rpc://a:99999",
        "",
        "rpc://[",
    ):
        with pytest.raises(StepwellError, match="bad-option"):
            address_of_url(wrong)
