"""
Cases in a process of their own, which may crash or hang without taking the tests with it.

`python -m tests.conformance.process` reads names of cases and writes outcomes, a line each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from queue import Empty, Queue
from threading import Thread
from typing import IO, TYPE_CHECKING

from tests.conformance.outcome import Outcome

if TYPE_CHECKING:
    from tests.conformance.cases import Case

LIMIT_S = 300
"""For one case; the first also generates all data, and light models are whole networks."""


class CaseProcess:
    """The parent's end: starts the process, `server`, when it is needed, and again after it died."""

    def __init__(self, limit_s: float = LIMIT_S, server: str = "tests.conformance.process") -> None:
        self.limit_s = limit_s
        self._server = server
        self._process: subprocess.Popen[str] | None = None
        self._lines: Queue[str] = Queue()

    def run(self, name: str) -> Outcome:
        """The outcome of a case; `crash` when the process died of it, `timeout` when it took too long."""
        process = self._started()
        stdin = process.stdin
        assert stdin is not None
        try:
            stdin.write(name + "\n")
            stdin.flush()
            line = self._lines.get(timeout=self.limit_s)
        except Empty:
            self.close()
            return Outcome(name, "timeout", f"no result after {self.limit_s} s", self.limit_s)
        except OSError:
            line = ""
        if line:
            return Outcome.from_line(line)
        status = process.wait()
        self._process = None
        died = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return Outcome(name, "crash", died)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._lines = Queue()
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert self._process.stdout is not None
            Thread(target=_forward, args=(self._process.stdout, self._lines), daemon=True).start()
        return self._process


def _forward(stream: IO[str], lines: Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def serve(run: Callable[[Case], Outcome]) -> None:
    """Read names of cases and write what comes of them, in the child's end."""
    # Results go where the parent reads; whatever else prints goes to the terminal.
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from tests.conformance.cases import case_named
    from tests.support.kernel_workers import compile_kernels_here

    compile_kernels_here()
    for line in sys.stdin:
        name = line.strip()
        results.write(run(case_named(name)).to_line() + "\n")
        results.flush()


if __name__ == "__main__":
    from tests.conformance.one_case import run_case

    serve(run_case)
