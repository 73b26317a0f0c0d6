"""The sources of the wheel `stepwell-runtime`, and an installation of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.installation import MARK, expect_compiler
from stepwell.tools.generators.runtime_wheel import ROOT, write_sources


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    write_sources(folder)
    return folder


def run(sources: Path, code: str) -> str:
    """Run a program in an installation of the sources; returns what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_has_the_runtime_and_nothing_else(sources: Path) -> None:
    package = sources / "stepwell"
    found = {str(file.relative_to(package)) for file in package.rglob("*") if file.is_file()}
    runtime = {
        str(file.relative_to(ROOT))
        for kind in ("py", "csv")
        for file in (ROOT / "runtime").rglob(f"*.{kind}")
    }
    assert found == {"__init__.py", "py.typed", f"runtime/{MARK}"} | runtime
    assert sum(file.stat().st_size for file in package.rglob("*.py")) < 2 << 20


def test_its_metadata_follow_the_projects(sources: Path) -> None:
    project = tomllib.loads((sources / "pyproject.toml").read_text())
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["project"]["version"] == whole["version"] == stepwell.__version__
    assert project["project"]["dependencies"] == ["numpy>=2"]
    assert set(project["tool"]["setuptools"]["packages"]) >= {
        "stepwell",
        "stepwell.runtime",
        "stepwell.runtime.files",
    }


def test_without_the_compiler_its_names_are_errors_with_advice(sources: Path) -> None:
    code = """
import stepwell
assert stepwell.__file__.startswith({!r})
try:
    stepwell.compile
except stepwell.StepwellError as error:
    print(error.render())
from stepwell.runtime.backends import find_backend
try:
    find_backend("onnxruntime")
except stepwell.StepwellError as error:
    print(error.code, error.message)
"""
    alone = "needs the compiler, and only stepwell-runtime is installed, which runs artifacts"
    assert run(sources, code.format(str(sources))).splitlines() == [
        f"error[missing-package]: stepwell.compile {alone}",
        "  = help: pip uninstall -y stepwell-runtime, then pip install stepwell",
        f"missing-package the backend 'onnxruntime' {alone}",
    ]


def test_both_in_one_place_are_refused(tmp_path: Path) -> None:
    runtime = tmp_path / "stepwell" / "runtime"
    runtime.mkdir(parents=True)
    expect_compiler("a test", str(runtime))
    (runtime / MARK).touch()
    with pytest.raises(StepwellError, match="missing-package.*a test needs"):
        expect_compiler("a test", str(runtime))
    (tmp_path / "stepwell" / "tools").mkdir()
    with pytest.raises(StepwellError, match="two-installations"):
        expect_compiler("a test", str(runtime))
