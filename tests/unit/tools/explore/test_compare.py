"""Two compilations side by side: calls are paired by their nodes, what changed most is first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepwell.tools import cli
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.compare import compared
from tests.commands import shown_error, written
from tests.support.samples import whole

DIGITS = Path(__file__).resolve().parents[4] / "examples" / "digits.onnx"


@pytest.fixture(scope="module")
def targets() -> list[Any]:
    """The data of one model for two targets."""
    return [
        collect(DIGITS, CompileOptions(profile=True, mcpu=mcpu), run=False)
        for mcpu in ("x86-64-v3", "x86-64-v4")
    ]


@whole
def test_two_targets_have_other_code_for_the_same_nodes(targets: list[Any]):
    found: Any = compared(*targets)
    assert len(found["pairs"]) == len(targets[0]["calls"]) == len(targets[1]["calls"])
    assert [sorted(pair["nodes"]) for pair in found["pairs"]].count(["layer0", "relu0"]) == 1
    for pair in found["pairs"]:
        assert pair["same"] is False and None not in pair["kernels"]
    text = {kernel["id"]: kernel["asm"]["text"] for kernel in targets[0]["kernels"]}
    first = next(pair for pair in found["pairs"] if "layer0" in pair["nodes"])
    assert "%ymm" in text[first["kernels"][0]] and "%zmm" not in text[first["kernels"][0]]
    assert "%zmm" in found["asm"][first["kernels"][1]]


def test_equal_compilations_have_the_same_code(targets: list[Any]):
    found: Any = compared(targets[0], targets[0])
    assert all(pair["same"] and pair["kernels"][0] == pair["kernels"][1] for pair in found["pairs"])


def test_the_largest_change_of_time_is_first(targets: list[Any]):
    ours, theirs = json.loads(json.dumps(targets))
    for data, times in ((ours, (10.0, 10.0, 10.0)), (theirs, (11.0, 40.0, 10.0))):
        for call, time in zip(data["calls"], times, strict=True):
            call["us"] = {"median": time, "low": time, "high": time}
    found: Any = compared(ours, theirs)
    assert [pair["us"][1] for pair in found["pairs"]] == [40.0, 11.0, 10.0]


def test_the_command_compares_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: list[Any]
):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "old.json", json.dumps(targets[0]))
    options = ["--no-run", "--format", "json", "--mcpu", "x86-64-v4", "--compare", "old.json"]
    assert cli.main(["explore", str(DIGITS), *options]) == 0
    assert len(json.loads(Path("digits.json").read_text())["compare"]["pairs"]) == 3


def test_a_file_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bad = written(tmp_path / "old.json", '{"schema": "stepwell-bench/1"}')
    error = shown_error(
        capsys, cli.main, "explore", DIGITS, "--no-run", "-o", tmp_path / "x", "--compare", bad
    )
    assert error.startswith("error[bad-data]: expected the schema stepwell-explore/1")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--compare", "none.json"], "no-file"),
        (["--compare", "m.stepwell"], "no-source"),
        (["--against", "none"], "bad-option"),
        (["--against", "none.npz"], "no-file"),
    ],
)
def test_an_error_comes_before_the_compilation(
    options: list[str],
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr("stepwell.tools.explore.collect.collect", None)
    error = shown_error(capsys, cli.main, "explore", DIGITS, "-o", tmp_path / "x", *options)
    assert error.startswith(f"error[{code}]: ")
