"""Codes of errors: each literal is in the table, each row is used, each example makes its code."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import onnx
import pytest

from stepwell.runtime.collector import collector_paused
from stepwell.runtime.error_codes import CODES
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli, opt
from stepwell.tools.generators.generate_docs import Example, error_examples
from tests.support.imports import tree_of

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "tools", "benchmarks")
_LOOKED_AT = (ast.Call, ast.ClassDef, ast.Compare, ast.FunctionDef)
_RAISES = re.compile(r"StepwellError\s+((?:`[a-z-]+`(?:,\s+|\s+or\s+)?)+)")


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """The calls, definitions and comparisons of each file that mentions errors."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    files += [ROOT / "stepwell" / name for name in ("__init__.py", "backend.py")]
    with collector_paused():
        return {
            str(file.relative_to(ROOT)): [n for n in ast.walk(tree_of(file)) if isinstance(n, _LOOKED_AT)]
            for file in files
            if "Error" in file.read_text(encoding="utf-8")
        }


def takes_a_code(node: ast.AST) -> bool:
    """Whether the first parameter of a function or a class is `code: str`."""
    match node:
        case ast.FunctionDef(args=ast.arguments(args=[ast.arg("self"), first, *_] | [first, *_])):
            return (
                first.arg == "code"
                and first.annotation is not None
                and ast.unparse(first.annotation) == "str"
            )
        case ast.ClassDef():
            fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
            is_code = bool(fields) and ast.unparse(fields[0]) == "code: str"
            return is_code or any(takes_a_code(i) for i in node.body if getattr(i, "name", "") == "__init__")
        case _:
            return False


@cache
def given_codes() -> Sequence[tuple[str, str | None]]:
    """The code that each call passes, with its place; None for one that is computed."""
    with collector_paused():
        return list(_given_codes())


def _given_codes() -> Iterator[tuple[str, str | None]]:
    every = [node for inner in nodes().values() for node in inner]
    takers = {
        node.name for node in every if isinstance(node, ast.FunctionDef | ast.ClassDef) and takes_a_code(node)
    }
    assert {"StepwellError", "RuntimeErrorRow"} <= takers
    handed_on = {
        id(name)
        for node in every
        if isinstance(node, ast.FunctionDef) and takes_a_code(node)
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and name.id == "code"
    }
    for file, inner in nodes().items():
        for node in inner:
            if isinstance(node, ast.Call) and node.args and id(node.args[0]) not in handed_on:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called in takers - {"__init__"} or (
                    called == "__init__"
                    and file == "runtime/errors.py"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    for code in codes_of(node.args[0]):
                        yield f"{file}:{node.lineno}", code


def codes_of(argument: ast.expr) -> list[str | None]:
    match argument:
        case ast.Constant(str(code)):
            return [code]
        case ast.IfExp():
            return [*codes_of(argument.body), *codes_of(argument.orelse)]
        case ast.Attribute(attr="code") | ast.Subscript(slice=ast.Constant("code")) | ast.Starred():
            return []  # that of another error, or one that an artifact stores
        case _:
            return [None]


def compared_codes() -> Iterator[tuple[str, str]]:
    """The literals that codes are compared with, and those that docstrings say are raised."""
    for file, inner in nodes().items():
        for node in inner:
            if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("error.code"):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant):
                        yield f"{file}:{node.lineno}", str(part.value)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for listed in _RAISES.findall(ast.get_docstring(node) or ""):
                    for code in re.findall("`([a-z-]+)`", listed):
                        yield f"{file}:{node.lineno} ({node.name})", code


def test_codes_are_literals_of_the_table() -> None:
    unknown = [f"{place}: {code}" for place, code in given_codes() if code not in CODES]
    assert not unknown, unknown


def test_codes_of_the_table_are_used() -> None:
    assert not CODES.keys() - {code for _, code in given_codes()}


def test_codes_that_are_compared_or_documented_exist() -> None:
    unknown = [f"{place}: {code}" for place, code in compared_codes() if code not in CODES]
    assert not unknown, unknown


def test_rows_are_in_order_and_worded_alike() -> None:
    assert list(CODES) == sorted(CODES)
    for code, (meaning, help) in CODES.items():
        assert meaning[0] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ." or meaning.startswith(("IR ", "Stepwell ")), (
            code
        )
        assert not meaning.endswith(".") and help.endswith("."), code


EXAMPLES = error_examples()
COMMANDS = {"stepwell": cli.main, "stepwell-opt": opt.main}


def test_each_code_has_an_example() -> None:
    assert EXAMPLES.keys() == CODES.keys()
    idle = [code for code, e in EXAMPLES.items() if bool(e.run) + bool(e.python) + bool(e.why) != 1]
    assert not idle, idle


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_files(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        is_model = name.endswith(".onnx")
        data = onnx.parser.parse_model(text).SerializeToString() if is_model else text.encode()
        (folder / name).write_bytes(data)


@pytest.mark.parametrize("code", [code for code, example in EXAMPLES.items() if not example.why])
def test_an_example_makes_its_code(
    code: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example: Example = EXAMPLES[code]
    write_files(example.files, folder)
    if example.hidden:
        monkeypatch.setitem(sys.modules, example.hidden, None)
    if example.python:
        with pytest.raises(StepwellError) as caught:
            exec(example.python, {"__name__": "__main__"})
        assert caught.value.code == code, caught.value
        return
    *before, last = map(shlex.split, example.run)
    for tool, *arguments in before:
        status = COMMANDS[tool](arguments)
        assert not status, capsys.readouterr().err
    capsys.readouterr()
    try:
        status = COMMANDS[last[0]](last[1:])
    except SystemExit as stop:
        status = stop.code
    shown = capsys.readouterr().err
    # Lines of progress may come before.
    assert status and f"\nerror[{code}]: " in f"\n{shown}", shown
