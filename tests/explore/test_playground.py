"""The playground: `stepwell explore --serve` as a command, and its page in Chromium by clicks."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.explore.browser import BROWSER, DIGITS, SECONDS, run_script

HERE = Path(__file__).parent
pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Generator[subprocess.Popen[str]]:
    """The command in a folder of its own; the first line of its output is the address."""
    command = [sys.executable, "-m", "stepwell", "explore", str(DIGITS), "--serve", "--no-open"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    process.kill()
    process.wait()


def address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().strip()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here: the playground is not tested in a browser")
def test_edits_by_clicks(server: subprocess.Popen[str], tmp_path: Path) -> None:
    run_script(HERE / "playground.test.js", address(server))
    assert (tmp_path / "mine.mlir").read_text().startswith("// RUN: stepwell-opt %s -p")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_without_a_process_left(server: subprocess.Popen[str], number: signal.Signals) -> None:
    assert address(server).startswith("http://127.0.0.1:")
    server.send_signal(number)
    assert server.wait(SECONDS) == 0
    end = monotonic() + SECONDS
    while (alive := of_session(server.pid)) and monotonic() < end:
        sleep(0.05)
    assert not alive


def of_session(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, own = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has ended
            continue
        if int(own) == session and state != "Z":
            found.append(int(folder.name))
    return found
