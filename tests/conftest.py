"""Settings and fixtures of all tests: a temporary cache folder, and the folder of big models."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from stepwell.runtime.environment import CACHE, MODELS
from stepwell.runtime.plugins import LOADED

_NO_MODELS = f"{MODELS.name} names no folder"
_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ

# A loaded machine is no fault of the code: no test is judged by its time.
settings.register_profile("stepwell", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stepwell")


def pytest_configure(config: pytest.Config) -> None:
    """
    Replace the user's kernel cache by a temporary folder; workers inherit the variable and share the folder.
    """
    if not _IS_WORKER:
        os.environ[CACHE.name] = tempfile.mkdtemp(prefix="stepwell-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache folder."""
    if not _IS_WORKER:
        shutil.rmtree(os.environ[CACHE.name], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Forget the plugins that a test loads: with them kernels have other keys, and compile in one process."""
    try:
        yield
    finally:
        LOADED.clear()


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder of big test models; tests that need it are skipped, and counted, where it is not set."""
    folder = MODELS.value()
    if not folder or not Path(folder).is_dir():
        pytest.skip(_NO_MODELS)
    return Path(folder).resolve()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the number of tests that were skipped because the big models are missing."""
    skipped = [r for r in terminalreporter.getreports("skipped") if _NO_MODELS in str(r.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} tests on big models were skipped: {MODELS.name} can name their folder",
            yellow=True,
        )
