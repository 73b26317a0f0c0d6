"""Inference programs of Paddle without any package: modules of level 0, and the results of Paddle."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.paddle.read import read_paddle
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "paddle"
OPERATORS = zipfile.ZipFile(SAMPLES / "operators.zip")
CASES = [name.removesuffix(".npz") for name in OPERATORS.namelist() if name.endswith(".npz")]
MODELS = ["residual", "mobile", "transformer"]


def arrays_of(file: Path | io.BytesIO, kind: str) -> list[Array]:
    """The inputs (`in`) or results (`out`) of a sample."""
    with np.load(file) as arrays:
        return [arrays[key] for key in sorted(arrays) if key.startswith(kind)]


def interpreted(path: Path, inputs: Sequence[Array]) -> list[Array]:
    """The results of level 1."""
    context = StepwellContext()
    module = read_paddle(path, context)
    run_pipeline(module, FROM_MODELS["paddle"], context)
    return [np.asarray(each) for each in Program(module, context, quick=True)(inputs)]


def close(found: Array, wanted: Array, bound: float = 1e-4) -> bool:
    """Whether results agree."""
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=bound, atol=bound, equal_nan=True)


def assert_like_paddle(name: str, found: Sequence[Array]) -> None:
    """Require the results of a model to be those of Paddle."""
    wanted = arrays_of(SAMPLES / f"{name}.npz", "out")
    assert all(close(a, b) for a, b in zip(found, wanted, strict=True))


def extracted(name: str, folder: Path) -> Path:
    """A program of the archive."""
    OPERATORS.extractall(folder, [each for each in OPERATORS.namelist() if each.startswith(f"{name}.")])
    return folder / f"{name}.json"


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_paddle_gives(name: str, tmp_path: Path) -> None:
    data = OPERATORS.read(f"{name}.npz")
    found = interpreted(extracted(name, tmp_path), arrays_of(io.BytesIO(data), "in"))
    wanted = arrays_of(io.BytesIO(data), "out")
    assert all(close(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_paddle_gives(name: str) -> None:
    found = interpreted(SAMPLES / f"{name}.json", arrays_of(SAMPLES / f"{name}.npz", "in"))
    assert_like_paddle(name, found)
    assert not {"paddle"} & set(sys.modules)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_compiled(name: str) -> None:
    model = stepwell.compile(SAMPLES / f"{name}.json")
    assert_like_paddle(name, [np.asarray(model(*arrays_of(SAMPLES / f"{name}.npz", "in")))])


def test_names_are_those_of_the_program_and_open_sizes_have_the_inputs_name() -> None:
    module = stepwell.read(SAMPLES / "residual.json")
    assert [str(each) for each in module.inputs] == ["x0: float32[x0_0, 3, 16, 16]"]


def test_reading_twice_gives_the_same_text() -> None:
    assert len({str(stepwell.read(SAMPLES / "mobile.json")) for _ in range(2)}) == 1
