"""Control flow of programs of Paddle: the results of Paddle, and regions that do not fit."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.frontend.paddle.read import read_paddle
from tests.unit.frontend.damaged import try_damaged
from tests.unit.frontend.test_paddle import SAMPLES, arrays_of, close, interpreted
from tests.unit.frontend.test_paddle_hostile import changed

CONTROL = zipfile.ZipFile(SAMPLES / "control.zip")
RUNS = [name.removesuffix(".npz") for name in CONTROL.namelist() if name.endswith(".npz")]


def extracted(run: str, folder: Path) -> Path:
    """The program of a run: `chosen.json` of `chosen1`."""
    return Path(CONTROL.extract(f"{run[:-1]}.json", folder))


def arrays(run: str, kind: str) -> list[Any]:
    return arrays_of(io.BytesIO(CONTROL.read(f"{run}.npz")), kind)


@pytest.mark.parametrize("run", RUNS)
def test_a_program_gives_what_paddle_gives(run: str, tmp_path: Path) -> None:
    found = interpreted(extracted(run, tmp_path), arrays(run, "in"))
    assert all(close(a, b) for a, b in zip(found, arrays(run, "out"), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_a_program_is_compiled(run: str, tmp_path: Path) -> None:
    made = stepwell.compile(extracted(run, tmp_path))(*arrays(run, "in"))
    found = [np.asarray(each) for each in (made if isinstance(made, tuple | list) else [made])]
    assert all(close(a, b) for a, b in zip(found, arrays(run, "out"), strict=True))


@pytest.mark.parametrize("shard", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3))])
def test_damaged_programs_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    path = extracted("chosen0" if shard % 2 else "counted0", tmp_path)
    try_damaged(read_paddle, "paddle", path, [path], 20, shard)


def without_the_end(loop: Any) -> None:
    loop["regions"][0]["blocks"][0]["ops"].pop()


def without_a_value(loop: Any) -> None:
    loop["regions"][0]["blocks"][0]["ops"][-1]["I"].pop()


def with_another_argument(loop: Any) -> None:
    arguments = loop["regions"][0]["blocks"][0]["args"]
    arguments.append(arguments[0] | {"#": -9})


def with_an_array(loop: Any) -> None:
    loop["#"] = "1.create_array"
    loop["O"][0]["TT"] = {"#": "1.t_dtensor_array"}


def of_another_number_of_regions(loop: Any) -> None:
    loop["regions"] *= 2


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (without_the_end, "invalid-model", "a block must yield 3 values, found"),
        (without_a_value, "invalid-model", "a block must yield 3 values, found 2"),
        (with_another_argument, "invalid-model", "both regions must take 3 values"),
        (of_another_number_of_regions, "invalid-model", "no inference program of Paddle"),
        (with_an_array, "unsupported", "create_array makes a t_dtensor_array, which is no tensor"),
    ],
)
def test_loops_that_do_not_fit(
    change: Callable[[Any], None], code: str, message: str, tmp_path: Path
) -> None:
    def change_loop(ops: Any) -> None:
        change(next(op for op in ops if op["#"] == "1.while"))

    error = changed(extracted("counted0", tmp_path), change_loop)
    assert (error.code, message in error.message) == (code, True), error.render()


def test_a_value_of_a_region_is_not_visible_outside(tmp_path: Path) -> None:
    def use_outside(ops: Any) -> None:
        loop = next(op for op in ops if op["#"] == "1.while")
        ops[-1]["I"] = [loop["regions"][0]["blocks"][0]["ops"][0]["O"][0]]

    assert changed(extracted("counted0", tmp_path), use_outside).code == "undefined-value"
