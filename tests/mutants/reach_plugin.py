"""
A pytest plugin that records which lines each test reaches: a context of `coverage` for each test.

`coverage` runs since the start of the process, and in its children (`COVERAGE_PROCESS_START`). What a fixture
of a whole file reaches is recorded under the name of the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import pytest

from stepwell.runtime.environment import CACHE
from tests.support.components import needs

CONTEXT = "STEPWELL_MUTANTS_CONTEXT"
"""The environment variable with the context of child processes."""
TIMES = "STEPWELL_MUTANTS_TIMES"
"""The environment variable with the file for the seconds of each test that passed."""
_SECONDS: dict[str, float] = {}
_FAILED: set[str] = set()


def _switch(context: str) -> None:
    os.environ[CONTEXT] = context
    needs("coverage").Coverage.current().switch_context(context)


os.register_at_fork(after_in_child=lambda: _switch(os.environ.get(CONTEXT, "")))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Time a test, under its own context and with a cache of its own: no other test compiles for it."""
    outer = os.environ[CACHE.name]
    _switch(item.nodeid)
    with TemporaryDirectory() as cache:
        os.environ[CACHE.name] = cache
        start = perf_counter()
        try:
            return (yield)
        finally:
            _SECONDS[item.nodeid] = perf_counter() - start
            os.environ[CACHE.name] = outer
            _switch("")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: Any) -> Generator[None, object, object]:
    """A fixture that tests share has the context of the node that it belongs to."""
    outer = os.environ.get(CONTEXT, "")
    if fixturedef.scope != "function":
        _switch(request.node.nodeid)
    try:
        return (yield)
    finally:
        _switch(outer)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the tests that did not pass."""
    if report.outcome != "passed":
        _FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the times."""
    passed = {name: round(seconds, 4) for name, seconds in _SECONDS.items() if name not in _FAILED}
    Path(os.environ[TIMES]).write_text(json.dumps(passed), encoding="utf-8")
