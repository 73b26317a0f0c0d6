"""Settings and fixtures of all tests: a temporary cache folder, and the folder of big models."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from stepwell.runtime.environment import CACHE, MODELS
from stepwell.runtime.plugins import IMPORTED, UNKEYED
from tests.support.components import MISSING
from tests.support.plugins import forgotten_plugins
from tests.support.samples import leave_out, repetitions

_NO_MODELS = f"{MODELS.name} names no folder"
_LEFT_OUT: dict[str, str] = {}
"""The slow cases that the options of this run leave out, with the command that runs them."""
_RUN_BY = {
    "tests/conformance": "make conformance",
    "tests/derivatives": "make derivatives",
    "tests/emulated": "make emulated",
    "tests/deploy": "make deploy",
    "tests/explore": "make explore",
    "tests/installed": "make test-runtime",
    "tests/models": "make models",
}
_NUMBERS: list[tuple[np.random.Generator, Mapping[str, Any]]] = []
"""The generators of random numbers that modules of tests share, named `RNG`, with their first states."""
_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
_LONG_S = 0.01
_runner: Any = import_module("_pytest.runner")

# A loaded machine is no fault of the code: no test is judged by its time.
settings.register_profile(
    "stepwell", max_examples=repetitions(250), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("stepwell")

# Hypothesis tries the constants of those of our modules that are imported: each worker would parse a thousand
# files for it, and the examples of a test would depend on the tests before it.
_providers: Any = import_module("hypothesis.internal.conjecture.providers")
_providers.is_local_module_file = lambda _path: False


def pytest_configure(config: pytest.Config) -> None:
    """
    Replace the user's kernel cache by a temporary folder; workers inherit the variable and share the folder.
    """
    # Most IR is freed by reference counts: the collector runs more rarely than after every 700 objects.
    gc.set_threshold(200_000, 20, 100)
    if _IS_WORKER:
        config.pluginmanager.register(CallReports())
    else:
        os.environ[CACHE.name] = tempfile.mkdtemp(prefix="stepwell-tests-")


class CallReports:
    """
    What a worker reports of a test that passes: its call, and setup or teardown where they took long.

    A report is written, read and counted by two processes: two fewer of each test, and none that it begins,
    save a third of what a test takes that does nothing (0.6 of 1.8 ms).
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in _runner.runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed or report.duration > _LONG_S:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache folder."""
    if not _IS_WORKER:
        shutil.rmtree(os.environ[CACHE.name], ignore_errors=True)


def pytest_collection_finish() -> None:
    """
    Note the state of the generators of random numbers of modules of tests, and take what lives as long as the
    process, modules and tests, out of the collector's rounds. Where several processes run tests, kernels are
    compiled in them, as each core has one; the fixture `kernel_workers` starts others, which costs 0.7 s.
    """
    if _IS_WORKER:
        from tests.support.kernel_workers import compile_kernels_here

        compile_kernels_here()
    for name, module in list(sys.modules.items()):
        rng = getattr(module, "RNG", None) if name.startswith("tests.") else None
        if isinstance(rng, np.random.Generator):
            _NUMBERS.append((rng, rng.bit_generator.state))
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """
    Forget what a test leaves in the process: plugins, with which kernels and models have other keys, the
    level of our logger, and how many random numbers were drawn: workers take tests from each other, and a
    test's numbers must not depend on which tests its worker ran before.
    """
    for rng, state in _NUMBERS:
        rng.bit_generator.state = state
    UNKEYED.clear()  # operators of a module of tests, which are there before any of them
    IMPORTED.clear()
    try:
        with forgotten_plugins():
            return (yield)
    finally:
        logging.getLogger("stepwell").setLevel(logging.NOTSET)


@pytest.fixture
def kernel_workers() -> Generator[None]:
    """Worker processes take part as soon as there are two kernels to compile."""
    from stepwell.dialects.costs.kernels import COMPILER
    from stepwell.dialects.costs.table import overridden

    with overridden(COMPILER, worker_pays=0):
        yield


@pytest.fixture
def small_heap() -> None:
    """`gc.collect()` looks at what a test makes alone: all that other tests left would take it a second."""
    gc.freeze()


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder of big test models; tests that need it are skipped, and counted, where it is not set."""
    folder = MODELS.value()
    if not folder or not Path(folder).is_dir():
        pytest.skip(_NO_MODELS)
    return Path(folder).resolve()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Leave all but a sample to `make cases`, fuzz cases to `make fuzz`, before slow ones are deselected."""
    leave_out(items)
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.sample)  # `make cases` tries more examples of it
        if item.get_closest_marker("fuzz"):
            item.add_marker(pytest.mark.slow)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note the slow cases: all workers leave out the same ones."""
    _LEFT_OUT.update((item.nodeid, _run_by(item)) for item in items if item.get_closest_marker("slow"))


def _run_by(item: pytest.Item) -> str:
    """The command that runs a slow case."""
    if item.get_closest_marker("fuzz"):
        return "make fuzz"
    if item.get_closest_marker("sample"):
        return "make cases"
    return next(
        (command for place, command in _RUN_BY.items() if item.nodeid.startswith(place)), "pytest -m slow"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what a worker has counted to the process that prints it."""
    if _IS_WORKER:
        vars(session.config)["workeroutput"] |= {"missing": sorted(MISSING), "left out": _LEFT_OUT}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker has counted; one that crashed says nothing."""
    output = getattr(node, "workeroutput", {})
    MISSING.update(output.get("missing", ()))
    _LEFT_OUT.update(output.get("left out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report what did not run: slow cases, and tests that want packages or big models that are missing."""
    if _LEFT_OUT:
        counts = sorted(Counter(_LEFT_OUT.values()).items())
        shown = ", ".join(f"{number} of `{command}`" for command, number in counts)
        terminalreporter.write_line(f"left out: {len(_LEFT_OUT)} slow cases: {shown}")
    if MISSING:
        terminalreporter.write_line(
            f"tests were skipped for want of packages: {', '.join(sorted(MISSING))}", yellow=True
        )
    skipped = [r for r in terminalreporter.getreports("skipped") if _NO_MODELS in str(r.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} tests on big models were skipped: {MODELS.name} can name their folder",
            yellow=True,
        )
