"""ML programs of Core ML without any package: modules of level 0, and results equal to those of torch."""

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
from stepwell.frontend.coreml.read import read_coreml
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "coreml"
OPERATORS = zipfile.ZipFile(SAMPLES / "operators.zip")
CASES = [name.removesuffix(".npz") for name in OPERATORS.namelist() if name.endswith(".npz")]
MODELS = ["residual", "residual_half", "mobile", "transformer"]


def arrays_of(file: Path | io.BytesIO, kind: str) -> list[Array]:
    """The inputs (`in`) or results (`out`) of a sample."""
    with np.load(file) as arrays:
        return [arrays[key] for key in sorted(arrays) if key.startswith(kind)]


def interpreted(path: Path, inputs: Sequence[Array]) -> list[Array]:
    """The results of level 1."""
    context = StepwellContext()
    module = read_coreml(path, context)
    run_pipeline(module, FROM_MODELS["coreml"], context)
    return [np.asarray(each) for each in Program(module, context, quick=True)(inputs)]


def close(found: Array, wanted: Array, bound: float = 1e-4) -> bool:
    """Whether results agree."""
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=bound, atol=bound, equal_nan=True)


def assert_like_torch(name: str, found: Sequence[Array]) -> None:
    """Require the results of a model to be those of torch."""
    wanted = arrays_of(SAMPLES / f"{name}.npz", "out")
    assert all(
        close(a, b, 2e-2 if name.endswith("half") else 1e-4) for a, b in zip(found, wanted, strict=True)
    )


def extracted(name: str, folder: Path) -> Path:
    """A package of the archive."""
    package = f"{name}.mlpackage"
    OPERATORS.extractall(folder, [each for each in OPERATORS.namelist() if each.startswith(f"{package}/")])
    return folder / package


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_an_operation_gives_what_torch_gives(name: str, tmp_path: Path) -> None:
    data = OPERATORS.read(f"{name}.npz")
    found = interpreted(extracted(name, tmp_path), arrays_of(io.BytesIO(data), "in"))
    wanted = arrays_of(io.BytesIO(data), "out")
    bound = 5e-3 if name == "half" else 1e-4
    assert all(close(a, b, bound) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_torch_gives(name: str) -> None:
    found = interpreted(SAMPLES / f"{name}.mlpackage", arrays_of(SAMPLES / f"{name}.npz", "in"))
    assert_like_torch(name, found)
    assert not {"coremltools", "torch"} & set(sys.modules)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_compiled(name: str) -> None:
    model = stepwell.compile(SAMPLES / f"{name}.mlpackage")
    assert_like_torch(name, [np.asarray(model(*arrays_of(SAMPLES / f"{name}.npz", "in")))])


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["scaled", "tables", "blocks", "grouped"])
def test_weights_of_few_bits_are_the_numbers_that_they_stand_for(kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(SAMPLES / "compressed.zip") as archive:
        archive.extractall(tmp_path)
    paths = [tmp_path / f"{name}.mlpackage" for name in (kind, f"{kind}_dense")]
    assert "constexpr_" in str(stepwell.read(paths[0])) and "constexpr_" not in str(stepwell.read(paths[1]))
    inputs = arrays_of(SAMPLES / "mobile.npz", "in")
    (found,), (wanted,) = (interpreted(path, inputs) for path in paths)
    assert close(found, wanted, 2e-2) and float(np.ptp(wanted)) > 0


def test_names_are_those_of_the_program_and_open_sizes_have_the_inputs_name() -> None:
    module = stepwell.read(SAMPLES / "residual.mlpackage")
    assert [str(each) for each in module.inputs] == ["x0: float32[x0_0, 3, 16, 16]"]


def test_reading_twice_gives_the_same_text() -> None:
    assert len({str(stepwell.read(SAMPLES / "mobile.mlpackage")) for _ in range(2)}) == 1
