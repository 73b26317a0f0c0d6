"""
The sources of the wheel `stepwell-runtime`: what loads and runs artifacts, with numpy alone.

`make runtime-wheel` writes them into a folder and builds the wheel there. Its files have the names that they
have in `stepwell`, so it is installed in place of that; where both are, `runtime/installation.py` refuses to
compile.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from stepwell.runtime.installation import MARK

ROOT = Path(__file__).resolve().parents[2]
_README = """\
The runtime of Stepwell, a deep-learning compiler, by itself: it loads and runs artifacts
(`stepwell.load("model.stepwell")`) and needs numpy alone. Install `stepwell-runtime` where models run,
`stepwell` where they are compiled; not both, since they have files of the same names.
"""
_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "stepwell-runtime"
version = "{version}"
description = "Loads and runs models that Stepwell compiled, with numpy alone"
readme = "README.md"
license = "{license}"
license-files = ["LICENSE"]
requires-python = "{requires-python}"
dependencies = ["{numpy}"]

[tool.setuptools]
packages = {packages}

[tool.setuptools.package-data]
"*" = ["py.typed", "*.csv", "{mark}"]
"""


def write_sources(folder: Path) -> None:
    """Write the sources of the wheel, with a `pyproject.toml` of their own, into a new folder."""
    package, runtime = folder / "stepwell", folder / "stepwell" / "runtime"
    shutil.copytree(ROOT / "runtime", runtime, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "py.typed"):
        shutil.copy(ROOT / "stepwell" / name, package)
    shutil.copy(ROOT / "LICENSE", folder)
    (runtime / MARK).write_text("This is stepwell-runtime, without the compiler.\n")
    (folder / "README.md").write_text(_README)
    (folder / "pyproject.toml").write_text(_project(package))


def _project(package: Path) -> str:
    """The metadata: of the whole project's, with numpy as the one dependency."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    numpy = next(name for name in whole["dependencies"] if name.startswith("numpy"))
    folders = sorted(file.parent.relative_to(package.parent) for file in package.rglob("__init__.py"))
    packages = [".".join(folder.parts) for folder in folders]
    return _PROJECT.format_map({**whole, "numpy": numpy, "packages": packages, "mark": MARK})


def main(argv: Sequence[str]) -> int:
    """Write the sources into a folder, in place of its contents; returns the status."""
    (name,) = argv
    shutil.rmtree(name, ignore_errors=True)
    write_sources(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
