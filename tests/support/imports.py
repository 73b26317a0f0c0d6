"""The import statements of the source tree, for the tests of who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from stepwell.runtime.collector import collector_paused

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "tools")
FRAMEWORKS = {"torch", "jax", "tensorflow", "keras", "flatbuffers", "coremltools", "sklearn"}
"""Packages whose models are read without them."""


@dataclass(frozen=True)
class Import:
    """An imported name: the importing file relative to the root, and the module with its dots."""

    file: str
    line: int
    module: str
    name: str
    """Empty for `import module`."""
    for_types: bool
    """Whether it is under `TYPE_CHECKING`."""


@cache
def all_imports() -> list[Import]:
    """The imports of all layers, those under `TYPE_CHECKING` and inside functions too."""
    files = (file for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py")))
    with collector_paused():  # it would visit all trees again and again: 9 s in place of 2
        return [found for file in files for found in imports_of(file)]


@cache
def tree_of(file: Path) -> ast.Module:
    """The syntax tree of a file, which several tests walk."""
    return ast.parse(file.read_text(encoding="utf-8"))


def imports_of(file: Path) -> Iterator[Import]:
    """The imports of a file."""
    source = file.relative_to(ROOT).as_posix()
    tree = tree_of(file)
    for statement, for_types in _statements(tree.body):
        if isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            for alias in statement.names:
                yield Import(source, statement.lineno, module, alias.name, for_types)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                yield Import(source, statement.lineno, alias.name, "", for_types)


def _statements(body: list[ast.stmt], for_types: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of a body and those inside them, without their expressions."""
    for statement in body:
        yield statement, for_types
        guards = isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)
        parts = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
        for part in parts:
            yield from _statements(getattr(part, "body", []), for_types or guards)
            for field in ("orelse", "finalbody"):
                yield from _statements(cast("list[ast.stmt]", getattr(part, field, [])), for_types)
