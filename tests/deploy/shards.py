"""
Parts of a long run of tests: `--shard I/N` runs every N-th case, `--resume` those without an outcome yet.

A plugin of pytest (`-p tests.deploy.shards`). Outcomes are lines of JSON in a file, the last one of a case is
in force; a case that failed, or that was under way when the run was ended, runs again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_FINAL = ("passed", "skipped")
_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ


class Outcome(NamedTuple):
    """The outcome of a case: `passed`, `skipped` with a reason, or `failed`."""

    case: str
    outcome: str
    reason: str
    seconds: float


def outcomes(path: Path) -> dict[str, Outcome]:
    """The last outcome of each case of a file; a line that was cut off counts for nothing."""
    found: dict[str, Outcome] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = Outcome(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[row.case] = row
    return found


def shard_of(text: str) -> tuple[int, int]:
    """The number of a shard, from 1, and the number of shards. Raises: pytest.UsageError."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise pytest.UsageError(f"--shard is I/N with I from 1 to N, found {text!r}")
    return int(number), int(count)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shards")
    group.addoption("--shard", default="1/1", help="I/N: every N-th case, from the I-th on")
    group.addoption("--resume", action="store_true", help="leave out what has passed or was skipped before")
    group.addoption("--results", default="build/deploy.jsonl", help="the file of outcomes")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Shards(config), "shards of a run")


class Shards:
    """The cases of a run's shard, and their outcomes."""

    def __init__(self, config: pytest.Config):
        self._number, self._count = shard_of(str(config.getoption("--shard")))
        self._path = Path(config.rootpath, str(config.getoption("--results")))
        self._done: set[str] = set()
        self._seconds: dict[str, float] = {}
        if _IS_WORKER:  # as the process that writes the file has read it: all workers have the same cases
            self._done.update(vars(config)["workerinput"]["done"])
        elif config.getoption("--resume"):
            self._done.update(case for case, row in outcomes(self._path).items() if row.outcome in _FINAL)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the finished cases to a worker."""
        node.workerinput["done"] = sorted(self._done)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Keep the shard's cases of those that the options choose."""
        yield
        own = items[self._number - 1 :: self._count]
        items[:] = [item for item in own if item.nodeid not in self._done]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the outcome of a case down as soon as it is known."""
        if _IS_WORKER:
            return
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome == "passed" and report.when != "call":
            return
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr or "")
        row = Outcome(report.nodeid, report.outcome, reason[-500:], round(self._seconds[report.nodeid], 1))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write("\n" + json.dumps(row._asdict()))  # after a line that was cut off, too

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A shard with nothing left to run is a good one."""
        if self._done and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Report which part ran."""
        before = f", without {len(self._done)} cases of before" if self._done else ""
        terminalreporter.write_line(f"shard {self._number} of {self._count}{before}: {self._path}")
