"""`explore --against`: the local and total difference of each call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepwell.tools import cli
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.differences import NOT_FINITE, add_differences
from tests.commands import shown_error, written
from tests.unit.tools.debug.test_compare import SOFTMAX, break_expand_math

NEW = CompileOptions(profile=True, use_cache=False)


def differences(folder: Path) -> list[Any]:
    """The calls of a small model, with their differences from the reference."""
    model = written(folder / "m.onnx", SOFTMAX)
    data: Any = collect(model, NEW, run=False)
    add_differences(data, model, NEW, "reference")
    json.dumps(data, allow_nan=False)
    return data["calls"]


def test_each_call_has_both_differences(tmp_path: Path):
    calls = differences(tmp_path)
    assert len(calls) == 3
    assert all(call["local"] <= call["allowed"] and call["total"] <= call["allowed"] for call in calls)


def test_a_wrong_kernel_is_distinguished_from_later_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    break_expand_math(monkeypatch)
    calls = differences(tmp_path)
    assert [call["local"] > call["allowed"] for call in calls] == [False, True, False]
    assert [call["total"] > call["allowed"] for call in calls] == [False, True, True]


def test_values_that_are_not_finite_have_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stepwell.tools.debug.compare.relative_difference", lambda *_: float("inf"))
    assert [call["total"] for call in differences(tmp_path)] == [NOT_FINITE] * 3


def test_the_command_names_what_departs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    model = str(written(tmp_path / "m.onnx", SOFTMAX))
    words = ["explore", model, "--no-run", "--no-cache", "--format", "json", "--against", "reference"]
    assert cli.main(words) == 0
    assert json.loads(Path("m.json").read_text())["against"]["first"] is None
    break_expand_math(monkeypatch)
    assert cli.main(words) == 1
    assert capsys.readouterr().out.startswith('wrong: node "')
    assert "(Softmax)" in json.loads(Path("m.json").read_text())["against"]["first"]
    error = shown_error(capsys, cli.main, "explore", model, "--no-run", "--against", "none.npz")
    assert error.startswith("error[no-file]")
