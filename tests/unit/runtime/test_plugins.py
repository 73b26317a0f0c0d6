"""Registries of what plugins define: names that are taken, definitions that come again, undone ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import (
    IMPORTED,
    REGISTRIES,
    UNKEYED,
    Registry,
    described,
    file_of,
    load_options,
    loading,
    place_of,
    plugin_error,
    plugin_of,
)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[str, int]:
    """A registry of its own."""
    monkeypatch.setattr("stepwell.runtime.plugins.REGISTRIES", [])
    return Registry("a thing", changes_models=True)


def named(name: str, module: str) -> Callable[[], None]:
    """A function with the names of one that a module defines."""

    def function() -> None: ...

    function.__qualname__, function.__module__ = name, module
    return function


def test_a_name_is_taken_once(registry: Registry[str, int]) -> None:
    first, second = named("first", __name__), named("second", __name__)
    registry.add("a", 1, first)
    registry.add("a", 2, first)
    assert registry.get("a") == 2 and list(registry) == ["a"] and registry.get("b") is None
    with pytest.raises(StepwellError, match="there is a thing 'a' already") as caught:
        registry.add("a", 3, second)
    line = first.__code__.co_firstlineno
    assert caught.value.notes == (f"it is first, {__file__}:{line}",)
    assert registry.get("a") == 2


def test_two_functions_of_one_name_in_a_file_are_two(registry: Registry[str, int]) -> None:
    registry.add("a", 1, named("same", __name__))
    with pytest.raises(StepwellError, match="already"):
        registry.add("a", 2, named("same", __name__))


def test_a_cell_that_runs_again_defines_the_same(registry: Registry[str, int]) -> None:
    registry.add("a", 1, named("same", "__main__"))
    registry.add("a", 2, named("same", "__main__"))
    assert registry.get("a") == 2
    with pytest.raises(StepwellError, match="already"):
        registry.add("a", 3, named("other", "__main__"))


def test_a_module_that_is_imported_again_defines_the_same(
    registry: Registry[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_twice.py").write_text("def function(): ...")
    for number in (1, 2):
        module = importlib.import_module("imported_twice")
        registry.add("a", number, module.function)
        del sys.modules["imported_twice"]
    assert registry.get("a") == 2


def test_what_fails_while_it_is_loaded_registers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.runtime.plugins.REGISTRIES", [*REGISTRIES])
    before: Registry[str, int] = Registry("a thing", changes_models=True)
    before.add("kept", 1, named("kept", __name__))
    UNKEYED.clear()
    with pytest.raises(KeyError), loading():
        before.add("lost", 2, named("lost", __name__))
        made: Registry[str, int] = Registry("another thing", changes_models=True)
        made.add("lost", 3, named("lost", __name__))
        raise KeyError
    assert dict(before.items()) == {"kept": 1} and len(made) == 0  # pyright: ignore[reportPossiblyUnboundVariable]
    assert not UNKEYED
    before.add("by hand", 4, named("by_hand", __name__))
    assert {__file__} == UNKEYED


def test_a_command_loads_what_was_imported_too(
    registry: Registry[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (file := tmp_path / "imported_by_hand.py").write_text("def function(): ...\n")
    registry.add("a", 1, importlib.import_module("imported_by_hand").function)
    registry.add("b", 2, named("in_no_file", "builtins"))
    assert f" --load {file}" in load_options()
    with loading():
        IMPORTED.clear()
        registry.add("a", 1, sys.modules["imported_by_hand"].function)
    assert not load_options()


def test_places() -> None:
    class Called:
        def __call__(self) -> None: ...

    line = test_places.__code__.co_firstlineno
    assert place_of(test_places) == f"{__file__}:{line}"
    assert place_of(Called) == f"{__file__}:{line + 1}"
    assert described(Called).endswith(f"Called, {__file__}:{line + 1}")
    assert place_of(Called()) == __file__
    assert not place_of(3)


def test_a_class_of_a_notebook_has_no_file(
    registry: Registry[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # whatever runs the tests
    space = {"__name__": "__main__"}
    for cell in ("<cell 1>", "<cell 2>"):
        exec(compile("class A:\n    def f(self):\n        [][1]\n", cell, "exec"), space)
        made = cast("type[Any]", space["A"])
        registry.add("a", 1, made)
        assert (file_of(made), place_of(made), plugin_of(made)) == ("__main__", "__main__", "__main__")
        try:
            made().f()
        except IndexError as error:
            failed = plugin_error(error)
            assert failed is not None and failed.notes == (f"raised at {cell}:3, in f",)
