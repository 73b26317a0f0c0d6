"""Servers that are at work, and ones that are stopped: clients wait for the former alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stepwell import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc import channels, wire
from stepwell.runtime.rpc import server as servers
from stepwell.runtime.rpc.server import RpcServer
from tests.unit.runtime.rpc.test_command import served

pytest.importorskip("cryptography", reason="cryptography is not installed")

CODE = """
import time

def late(x):
    time.sleep(float(x[0]))
    return x
"""
X = np.array([1.2], np.float32)


def test_a_server_at_work_is_waited_for(
    serve: Callable[..., RpcServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "SILENT_SECONDS", 0.6)
    monkeypatch.setattr(servers, "BEAT_SECONDS", 0.05)
    (tmp_path / "late.py").write_text(CODE)
    with rpc.connect(f"rpc://{serve().address}") as session:
        session.upload(tmp_path / "late.py")
        for _ in range(2):  # signs of life after an answer belong to no request
            np.testing.assert_array_equal(session.call("late.late", X), X)


@pytest.mark.parametrize("size", [1, 32 << 20])
def test_a_stopped_server_is_not_waited_for(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine still takes what fits into buffers."""
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path))
    with served("serve") as (place, process), rpc.connect(place) as session:
        session.log()
        monkeypatch.setattr(channels, "SILENT_SECONDS", 0.3)
        monkeypatch.setattr(wire, "STUCK_SECONDS", 0.3)
        (tmp_path / "file").write_bytes(bytes(size))
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)  # until then it may still answer
        begin = time.monotonic()
        with pytest.raises(StepwellError, match=r"error\[session-died\].*neither an answer") as raised:
            session.upload(tmp_path / "file")
        assert time.monotonic() - begin < 10
        with pytest.raises(StepwellError, match="neither an answer"):
            session.log()
        assert raised.value.help


def test_a_server_of_another_version_is_refused(
    serve: Callable[..., RpcServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "PROTOCOL", 2)
    with pytest.raises(StepwellError, match=r"error\[bad-message\].*speaks version 2.*client version 3"):
        rpc.connect(f"rpc://{serve().address}")
