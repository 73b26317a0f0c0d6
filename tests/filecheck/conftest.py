"""Collects every `.mlir` file here: one test for each of its `// RUN:` lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.shell import run_line

_RUN = re.compile(r"//\s*RUN:\s*(.*?)\s*$", re.MULTILINE)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take the `.mlir` files."""
    if file_path.suffix != ".mlir":
        return None
    return MlirFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]


class MlirFile(pytest.File):
    """A FileCheck file."""

    def collect(self) -> Iterator[pytest.Item]:
        lines = _RUN.findall(self.path.read_text(encoding="utf-8"))
        if not lines:
            raise self.CollectError(f"{self.path} has no `// RUN:` line")
        for number, line in enumerate(lines, 1):
            name = f"run{number}"
            yield RunLine.from_parent(self, name=name, line=line)  # pyright: ignore[reportUnknownMemberType]


class RunFailure(Exception):
    """A `RUN` line whose exit status is not 0."""


class RunLine(pytest.Item):
    """One `// RUN:` line; `%s` is the file, `%t` a fresh path for what the line writes."""

    def __init__(self, *, line: str, **kwargs: Any):
        super().__init__(**kwargs)  # pyright: ignore[reportUnknownMemberType]
        self.line = line

    def runtest(self) -> None:
        with TemporaryDirectory() as folder:
            outcome = run_line(
                self.line, {"%s": str(self.path), "%S": str(self.path.parent), "%t": f"{folder}/temp"}
            )
        if outcome.status:
            raise RunFailure(f"RUN: {self.line}\n{outcome.stderr or outcome.stdout}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, RunFailure) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.name}"
