"""
A pytest plugin for the trial of a mutant: the chosen tests only, in their order, until one fails.

`STEPWELL_MUTANTS_TESTS` names a file with the tests, a line each; what runs is written to the file that
`STEPWELL_MUTANTS_PROGRESS` names, so that a test that hangs is known.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

import stepwell

CHOSEN = "STEPWELL_MUTANTS_TESTS"
PROGRESS = "STEPWELL_MUTANTS_PROGRESS"
_MEMORY_BYTES = 16 << 30
"""Address space of a trial: a mutant may ask for as much as there is."""


def pytest_configure(config: pytest.Config) -> None:
    """Bound the memory; the compiler must be that of the copy."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    if not Path(stepwell.__file__).is_relative_to(Path.cwd()):
        raise pytest.UsageError(f"the trial would test {stepwell.__file__}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the chosen tests, in their order."""
    chosen = Path(os.environ[CHOSEN]).read_text(encoding="utf-8").splitlines()
    order = {name: position for position, name in enumerate(chosen)}
    items[:] = sorted((i for i in items if i.nodeid in order), key=lambda item: order[item.nodeid])


def _note(text: str) -> None:
    with Path(os.environ[PROGRESS]).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note a test that begins."""
    _note(f"start {nodeid}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that fails, with the end of its report."""
    if report.failed:
        reason = str(report.longrepr).strip().splitlines()
        _note(f"failed {report.nodeid}\t{reason[-1][:200] if reason else ''}")
