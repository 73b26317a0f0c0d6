"""`stepwell rpc serve` and `stepwell run --on`, as processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.identity import Address, address_of_url
from stepwell.tools import cli
from tests.unit.runtime.rpc.test_local import SOFTMAX

COMMAND = [sys.executable, "-m", "stepwell"]


@contextmanager
def served(*arguments: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
    """The address at which a server of `stepwell rpc` listens, and its process."""
    server = subprocess.Popen([*COMMAND, "rpc", *arguments], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        first = server.stdout.readline()
        assert first.startswith("listening on 127.0.0.1:")
        yield f"rpc://{first.split()[-1]}", server
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def shown(*arguments: str) -> str:
    command = [*COMMAND, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout


def test_a_server_runs_an_artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path))
    stepwell.compile(stepwell.parse(SOFTMAX)).save(tmp_path / "m.stepwell")
    with served("serve") as (url, server):
        text = shown("run", str(tmp_path / "m.stepwell"), "--on", url, "--repeat", "10")
        assert f"10 runs on {url}" in text
        server.terminate()
        assert server.stdout is not None
        rest = server.stdout.read()
        assert "fingerprint " in rest and f"token in {tmp_path}" in rest
        assert (tmp_path / "rpc-token").read_text() not in rest
        assert server.wait(20) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tracker", "proxy"])
def test_a_tracker_lends_a_device(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path))
    model = tmp_path / "m.mlir"
    model.write_text(SOFTMAX)
    with served(kind) as (tracker, _), served("serve", "--tracker", tracker, "--key", "board"):
        end = time.monotonic() + 120
        while "board" not in (table := shown("rpc", "devices", tracker)):
            assert time.monotonic() < end
        assert "free for" in table and "0 waiting" in table
        (row,) = json.loads(shown("rpc", "devices", tracker, "--json"))["devices"]
        assert row["key"] == "board" and row["state"] == "free"
        on = f"{tracker}?key=board"
        assert "3 runs on" in shown("run", str(model), "--on", on, "--repeat", "3")
        assert "ms on" in shown("bench", str(model), "--on", on, "--rounds", "3")


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--key", "a"),
        ("serve", "--tracker", "rpc://a:1"),
        ("serve", "--tracker", "rpc://a:1", "--key", ".a"),
        ("serve", "--tracker", "rpc://a:1?key=a", "--key", "a"),
        ("serve", "--tracker", "rpc://a:1", "--key", "a", "--insecure"),
        ("tracker", "--host", "0.0.0.0", "--insecure"),
        ("devices", "rpc://a:1?key=a"),
    ],
)
def test_arguments_that_do_not_fit(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rpc", *arguments]) == 1
    assert "error[" in capsys.readouterr().err


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
