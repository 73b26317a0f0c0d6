"""Programs of Paddle of version 2: the results of Paddle, and programs that lie."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects import paddle
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.paddle.read import read_paddle
from stepwell.frontend.paddle.schema import SCHEMA
from stepwell.frontend.paddle.version_2_operators import rules
from stepwell.frontend.protobuf import Message, read_message
from tests.unit.frontend.damaged import try_damaged
from tests.unit.frontend.encoded import encoded
from tests.unit.frontend.test_paddle import SAMPLES, arrays_of, close, interpreted

SAMPLE = zipfile.ZipFile(SAMPLES / "version_2.zip")
FILES = set(SAMPLE.namelist())
RUNS = [name.removesuffix(".npz") for name in SAMPLE.namelist() if name.endswith(".npz")]
CONTROL = [run for run in RUNS if f"{run}.pdmodel" not in FILES]
"""Runs of programs that several share: `chosen1` is one of `chosen`."""


def extracted(run: str, folder: Path) -> Path:
    """The program of a run, with its parameters."""
    name = run[:-1] if run in CONTROL else run
    SAMPLE.extractall(folder, [each for each in (f"{name}.pdmodel", f"{name}.pdiparams") if each in FILES])
    return folder / f"{name}.pdmodel"


def arrays(run: str, kind: str) -> list[Any]:
    return arrays_of(io.BytesIO(SAMPLE.read(f"{run}.npz")), kind)


@pytest.mark.sample(9)
@pytest.mark.parametrize("run", [run for run in RUNS if run not in CONTROL])
def test_a_program_gives_what_paddle_gives(run: str, tmp_path: Path) -> None:
    found = interpreted(extracted(run, tmp_path), arrays(run, "in"))
    assert all(close(a, b) for a, b in zip(found, arrays(run, "out"), strict=True))


@pytest.mark.parametrize("run", CONTROL)
def test_a_program_with_blocks_gives_what_paddle_gives(run: str, tmp_path: Path) -> None:
    found = interpreted(extracted(run, tmp_path), arrays(run, "in"))
    assert all(close(a, b) for a, b in zip(found, arrays(run, "out"), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("run", ["residual", "mobile", "transformer", *CONTROL])
def test_a_program_is_compiled(run: str, tmp_path: Path) -> None:
    made = stepwell.compile(extracted(run, tmp_path))(*arrays(run, "in"))
    found = [np.asarray(each) for each in (made if isinstance(made, tuple | list) else [made])]
    assert all(close(a, b) for a, b in zip(found, arrays(run, "out"), strict=True))


def test_rules_name_operators_and_arguments_of_the_table() -> None:
    for rule in rules().values():
        signature = paddle.TABLE.signature(rule.target)
        assert set(rule.sources) <= set(signature.by_name) and len(rule.results) <= len(signature.results)


@pytest.mark.parametrize("shard", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3, 4, 5))])
def test_damaged_programs_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    path = extracted(("transformer", "counted0", "chosen0")[shard % 3], tmp_path)
    try_damaged(read_paddle, "paddle", path, [path], 20, shard)


def changed(run: str, folder: Path, change: Callable[[Message], None]) -> Path:
    """A program after a change of what it says."""
    path = extracted(run, folder)
    program = read_message(memoryview(path.read_bytes()), SCHEMA, "ProgramDesc", "m")
    change(program)
    path.write_bytes(encoded(program, SCHEMA))
    return path


def refused(path: Path) -> stepwell.StepwellError:
    with pytest.raises(stepwell.StepwellError) as caught:
        read_paddle(path, StepwellContext())
    return caught.value


def operator(program: Message, type: str) -> Message:
    """The first operator of a type."""
    blocks = program.messages("blocks")
    return next(op for block in blocks for op in block.messages("ops") if op.text("type") == type)


def attribute(op: Message, name: str) -> Message:
    return next(each for each in op.messages("attrs") if each.text("name") == name)


def test_a_program_that_is_encoded_again_says_the_same(tmp_path: Path) -> None:
    first = str(stepwell.read(extracted("counted0", tmp_path)))
    assert str(stepwell.read(changed("counted0", tmp_path, lambda _: None))) == first


def test_the_second_operand_may_begin_at_an_axis_of_the_first(tmp_path: Path) -> None:
    def at_axis_1(program: Message) -> None:
        for variable in program.messages("blocks")[0].messages("vars"):
            if variable.text("name") == "x1":
                variable.message("type").message("lod_tensor").message("tensor").values["dims"] = [3]
        attribute(operator(program, "elementwise_add"), "axis").values["i"] = 1

    x, y = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.array([10, 20, 30], np.float32)
    (found,) = interpreted(changed("add", tmp_path, at_axis_1), [x, y])
    assert close(found, x + y[:, None])


def run_itself(program: Message) -> None:
    attribute(operator(program, "while"), "sub_block").values["block_idx"] = 1
    program.messages("blocks")[1].messages("ops")[0].values |= operator(program, "while").values


def run_a_missing_block(program: Message) -> None:
    attribute(operator(program, "while"), "sub_block").values["block_idx"] = 9


def name_another_operator(program: Message) -> None:
    operator(program, "scale").values["type"] = "yolo_box"


def make_an_array(program: Message) -> None:
    name = operator(program, "less_than").messages("outputs")[0].texts("arguments")[0]
    for variable in program.messages("blocks")[0].messages("vars"):
        if variable.text("name") == name:
            variable.message("type").values["type"] = 13


def read_what_is_not_there(program: Message) -> None:
    operator(program, "less_than").messages("inputs")[0].values["arguments"] = ["nothing"]


def give_another_input(program: Message) -> None:
    operator(program, "less_than").messages("inputs")[0].values["parameter"] = "Z"


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (run_itself, "invalid-model", "several operators run block 1"),
        (run_a_missing_block, "invalid-model", "block 9 does not exist"),
        (make_an_array, "unsupported", "is no tensor of numbers"),
        (read_what_is_not_there, "undefined-value", "nothing defines 'nothing'"),
        (give_another_input, "unsupported", "less_than: the input 'Z' is not supported"),
    ],
)
def test_programs_that_lie(
    change: Callable[[Message], None], code: str, message: str, tmp_path: Path
) -> None:
    error = refused(changed("counted0", tmp_path, change))
    assert (error.code, message in error.message) == (code, True), error.render()


def test_an_operator_without_a_conversion_is_named(tmp_path: Path) -> None:
    path = changed("scale", tmp_path, name_another_operator)
    with pytest.raises(stepwell.StepwellError, match="no conversion for yolo_box"):
        stepwell.compile(path)


def test_an_attribute_that_must_have_a_value(tmp_path: Path) -> None:
    def other(program: Message) -> None:
        attribute(operator(program, "hard_swish"), "offset").values["f"] = 2.5

    assert "hard_swish: `offset` must be 3" in refused(changed("hardswish", tmp_path, other)).message


@pytest.mark.parametrize("data", [b"", b"\x08", b"{}"])
def test_files_of_another_kind(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.pdmodel").write_bytes(data)
    assert refused(tmp_path / "m.pdmodel").code == "invalid-model"
