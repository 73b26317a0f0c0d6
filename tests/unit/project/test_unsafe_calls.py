"""Imports and calls that could run what a file says: frameworks, pickles, text that is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stepwell.runtime.collector import collector_paused
from tests.support.imports import FRAMEWORKS, LAYERS, ROOT, all_imports, tree_of

UNSAFE_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "runpy", "joblib"}
RUNS_TEXT = {"eval", "exec", "execfile"}
UNSAFE_CALLS = RUNS_TEXT | {"compile", "__import__"}
OWN_NAMES = {"formats.py", "messages.py", "__init__.py"}
"""Files that import what their own tables name."""
OWN_TEXT = {
    "runtime/vm/array_calls.py": "a function of three lines, which counts references as the next file's do",
    "runtime/vm/hot_runs.py": "functions of names and numbers that are made there",
}
"""The files that execute text, and what text it is: none of it comes from outside."""


def test_conversions_import_no_framework() -> None:
    """Readers may import a framework; conversions, dialects and passes never do."""
    folders = ("dialects/", "lowering/", "passes/", "patterns/", "runtime/")
    wrong = [i for i in all_imports() if i.file.startswith(folders) and i.module.split(".")[0] in FRAMEWORKS]
    assert not wrong, wrong


def test_readers_unpickle_evaluate_and_import_nothing_that_a_file_names() -> None:
    files = _sources("frontend")
    found = _places(files, _is_unsafe)
    assert len(files) > 100 and not found, found


def test_text_is_executed_in_two_files() -> None:
    words = re.compile(rf"\b(?:{'|'.join(RUNS_TEXT)})\(")
    files = [file for file in _sources(*LAYERS) if words.search(file.read_text(encoding="utf-8"))]
    found = _places(files, lambda node, _: _called(node) in RUNS_TEXT)
    assert {place.partition(":")[0] for place in found} == OWN_TEXT.keys(), found


def _sources(*folders: str) -> list[Path]:
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]


def _places(files: Sequence[Path], is_wrong: Callable[[ast.AST, str], bool]) -> list[str]:
    """The lines with a node of a kind."""
    with collector_paused():
        return [
            f"{file.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 0)}"
            for file in files
            for node in ast.walk(tree_of(file))
            if is_wrong(node, file.name)
        ]


def _called(node: ast.AST) -> str:
    """The plain name that a node calls; empty for other nodes."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_unsafe(node: ast.AST, file: str) -> bool:
    """Whether an import or a call could run what a model says."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [*(alias.name for alias in node.names), getattr(node, "module", None) or ""]
        return not UNSAFE_MODULES.isdisjoint(name.split(".")[0] for name in names)
    if not isinstance(node, ast.Call) or not (name := _called(node)):
        return False
    computed = name == "import_module" and not isinstance(node.args[0], ast.Constant)
    return name in UNSAFE_CALLS or (computed and file not in OWN_NAMES)


@pytest.mark.parametrize(
    "text", ["import pickle", "from marshal import loads", "eval(x)", "import_module(x)", "__import__(x)"]
)
def test_what_is_unsafe_is_found(text: str) -> None:
    assert any(_is_unsafe(node, "read.py") for node in ast.walk(ast.parse(text)))
