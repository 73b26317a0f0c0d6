"""Servers of sessions on loopback: TLS, tokens, bounds, ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.attempts import WRONG_PER_MINUTE, Attempts
from stepwell.runtime.rpc.channels import Secrets
from stepwell.runtime.rpc.client import opened
from stepwell.runtime.rpc.identity import fingerprint_of, own_certificate, own_token, trust
from stepwell.runtime.rpc.listening import expect_secure
from stepwell.runtime.rpc.server import RpcServer
from stepwell.runtime.rpc.session import Limits
from tests.unit.runtime.rpc.test_local import CODE, SOFTMAX, X

pytest.importorskip("cryptography", reason="cryptography is not installed")

Serve = Callable[..., RpcServer]


def url(server: RpcServer) -> str:
    return f"rpc://{server.address}"


def test_a_model_runs_on_a_server(serve: Serve) -> None:
    model = stepwell.compile(stepwell.parse(SOFTMAX))
    with rpc.connect(url(serve())) as session:
        there = session.load(model, threads=1)
        np.testing.assert_array_equal(there(X), model(X))
        large = np.random.default_rng(1).standard_normal((100_000, 17), np.float32)  # in chunks
        np.testing.assert_array_equal(there(large), model(large))
        assert len(session.time(there, [X], number=2, repeat=3).seconds) == 3
    with pytest.raises(StepwellError, match="session-died"):
        there(X)


def test_wrong_secrets_are_refused(serve: Serve) -> None:
    server = serve()
    fingerprint = fingerprint_of(own_certificate()[1])
    with pytest.raises(StepwellError, match=r"error\[bad-token\]"):
        rpc.connect(url(server), token="0" * 64)
    for wrong in ("0" * 64, fingerprint[:-1], "no digits"):
        with pytest.raises(StepwellError, match=r"error\[bad-certificate\]"):
            rpc.connect(url(server), fingerprint=wrong)
    rpc.connect(url(server), token=own_token()[0], fingerprint=fingerprint.upper()).close()
    with pytest.raises(StepwellError, match=r"error\[no-server\]"):
        opened(server.address, Secrets(own_token()[0], None), 0.5)


def test_too_many_wrong_tokens(serve: Serve) -> None:
    server = serve()
    for _ in range(WRONG_PER_MINUTE):
        with pytest.raises(StepwellError, match="the token is not the server's"):
            rpc.connect(url(server), token="0" * 64)
    with pytest.raises(StepwellError, match=r"error\[bad-token\].*try again in a minute"):
        rpc.connect(url(server))


def test_the_minute_of_wrong_tokens_ends() -> None:
    now = [0.0]
    attempts = Attempts("right", lambda: now[0])
    for _ in range(WRONG_PER_MINUTE):
        assert attempts.refusal("a", "wrong")
    assert attempts.refusal("a", "right") and attempts.refusal("b", "right") is None
    now[0] = 61
    assert attempts.refusal("a", "right") is None


def test_without_tls_on_loopback_only(serve: Serve) -> None:
    server = serve(tls=False)
    opened(server.address, Secrets(own_token()[0], None), 20).close()
    with pytest.raises(StepwellError, match=r"error\[bad-certificate\]"):
        rpc.connect(url(server), timeout=5)
    with pytest.raises(StepwellError, match=r"error\[insecure-address\]"):
        expect_secure("0.0.0.0", has_tls=False)


def test_secrets_are_the_users_alone(settings: Path, serve: Serve) -> None:
    serve()
    for name in ("rpc-token", "rpc-key.pem"):
        assert os.stat(settings / name).st_mode & 0o077 == 0


def test_a_trusted_server_is_known(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    token, fingerprint = own_token()[0], fingerprint_of(own_certificate()[1])
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path))
    with pytest.raises(StepwellError, match=r"error\[bad-token\]: no token is known"):
        rpc.connect(url(server))
    with pytest.raises(StepwellError, match=r"error\[bad-certificate\]: no fingerprint is known"):
        rpc.connect(url(server), token=token)
    path = trust(server.address, token, fingerprint)
    assert path.stat().st_mode & 0o077 == 0
    rpc.connect(url(server)).close()


def test_a_crash_ends_one_session(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "crashing.py").write_text(CODE)
    server = serve()
    with rpc.connect(url(server)) as other, rpc.connect(url(server)) as session:
        session.upload(tmp_path / "crashing.py")
        with pytest.raises(StepwellError, match=r"session-died.*SIGSEGV in crashing\.crash"):
            session.call("crashing.crash")
        assert other.log() == ""


def test_a_session_takes_its_seconds(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "looping.py").write_text(CODE)
    server = serve(limits=Limits(session_seconds=1.5))
    with rpc.connect(url(server)) as session:
        session.upload(tmp_path / "looping.py")
        with pytest.raises(StepwellError, match=r"session-timeout.*looping\.loop"):
            session.call("looping.loop")
    rpc.connect(url(server)).close()


def test_an_idle_session_ends(serve: Serve) -> None:
    session = rpc.connect(url(serve(idle_seconds=0.2)))
    time.sleep(1.5)
    with pytest.raises(StepwellError, match=r"error\[session-died\]"):
        session.log()
    session.close()


def test_sessions_are_counted(serve: Serve) -> None:
    server = serve(sessions=1)
    with rpc.connect(url(server)):
        with pytest.raises(StepwellError, match=r"error\[too-many\]"):
            rpc.connect(url(server))


def test_uploads_are_bounded(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(600))
    server = serve(limits=Limits(max_bytes=1000))
    with rpc.connect(url(server)) as session:
        session.upload(tmp_path / "f", "a")
        session.upload(tmp_path / "f", "a")
        with pytest.raises(StepwellError, match=r"error\[too-large\]"):
            session.upload(tmp_path / "f", "b")
        (tmp_path / "f").write_bytes(bytes(1001))
        with pytest.raises(StepwellError, match=r"error\[bad-message\]"):
            session.upload(tmp_path / "f", "b")


def test_nothing_heavy_is_imported() -> None:
    import subprocess
    import sys

    heavy = ("ssl", "cryptography", "uvicorn", "httptools", "tvm_ffi")
    program = f"import sys, stepwell; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
