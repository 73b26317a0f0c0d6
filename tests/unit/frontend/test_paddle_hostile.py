"""Programs of Paddle that lie: an error or the right answer, in little time and memory."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.paddle.read import read_paddle
from tests.support.imports import ROOT
from tests.unit.frontend.damaged import try_damaged

SAMPLES = ROOT / "tests" / "models" / "paddle"


def copied(name: str, folder: Path) -> Path:
    shutil.copy(SAMPLES / f"{name}.pdiparams", folder / "m.pdiparams")
    return Path(shutil.copy(SAMPLES / f"{name}.json", folder / "m.json"))


def refused(path: Path) -> stepwell.StepwellError:
    with pytest.raises(stepwell.StepwellError) as caught:
        read_paddle(path, StepwellContext())
    return caught.value


@pytest.mark.parametrize(
    "shard", [pytest.param(i, marks=[] if i == 0 else pytest.mark.slow) for i in range(10)]
)
def test_damaged_programs_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    path = copied("mobile" if shard % 2 else "transformer", tmp_path)
    try_damaged(read_paddle, "paddle", path, [path, path.with_suffix(".pdiparams")], 25, shard)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 5000, '{"base_code": {"magic": "pie"}}', "\ud800"])
def test_files_of_another_kind(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    error = refused(path)
    assert error.code == "invalid-model" and "no inference program of Paddle" in error.message


def changed(path: Path, change: Any) -> stepwell.StepwellError:
    """The error for a program after a change of its operators."""
    program = json.loads(path.read_text())
    change(program["program"]["regions"][0]["blocks"][0]["ops"])
    path.write_text(json.dumps(program))
    return refused(path)


def test_values_and_operands_that_are_not_there(tmp_path: Path) -> None:
    def use_later(ops: Any) -> None:
        next(op for op in ops if op["#"] == "1.relu6")["I"] = [{"%": 100_000}]

    assert changed(copied("mobile", tmp_path), use_later).code == "undefined-value"

    def one_more(ops: Any) -> None:
        next(op for op in ops if op["#"] == "1.relu6")["I"] *= 3

    assert "relu6 takes fewer operands than 3" in changed(copied("mobile", tmp_path), one_more).message


def test_parameters_lie_inside_of_their_file(tmp_path: Path) -> None:
    path = copied("mobile", tmp_path)
    parameters = path.with_suffix(".pdiparams")
    whole = parameters.read_bytes()
    for data, message in (
        (whole[:-1], "ends at byte"),
        (whole + b"\0", "1 bytes are left after"),
        (struct.pack("<IQ", 0, 1 << 60) + whole[12:], "levels at byte 12"),
        (whole[:16] + struct.pack("<i", -1) + whole[20:], "a description of -1 bytes"),
        (b"", "the file has 0 bytes"),
    ):
        parameters.write_bytes(data)
        error = refused(path)
        assert error.code == "invalid-weights" and message in error.message
    parameters.unlink()
    assert refused(path).code == "external-data"


def test_a_missing_program_and_one_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tmp_path / "none.json").code == "no-file"
    monkeypatch.setattr("stepwell.frontend.paddle.read.MAX_BYTES", 10)
    assert refused(SAMPLES / "mobile.json").code == "too-large"
