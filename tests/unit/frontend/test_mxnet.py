"""Symbols of MXNet without any package: modules of level 0, and the results of MXNet."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.onnx.input_shapes import set_input_shapes
from stepwell.frontend.mxnet.read import read_mxnet
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "mxnet"
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
    module = read_mxnet(path, context)
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    set_input_shapes(main, {name: each.shape for name, each in zip(names_of(main), inputs, strict=True)})
    run_pipeline(module, FROM_MODELS["mxnet"], context)
    return [np.asarray(each) for each in Program(module, context, quick=True)(inputs)]


def names_of(main: FuncOp) -> list[str]:
    """The names of the inputs."""
    assert main.arg_attrs is not None
    return [cast(StringAttr, each.data["graph.name"]).data for each in main.arg_attrs]


def close(found: Array, wanted: Array, bound: float = 1e-4) -> bool:
    """Whether results agree."""
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=bound, atol=bound, equal_nan=True)


def assert_like_mxnet(name: str, found: Sequence[Array]) -> None:
    """Require the results of a model to be those of MXNet."""
    wanted = arrays_of(SAMPLES / f"{name}.npz", "out")
    assert all(close(a, b) for a, b in zip(found, wanted, strict=True))


def extracted(name: str, folder: Path) -> Path:
    """A symbol of the archive."""
    parts = (f"{name}-symbol", f"{name}-0")
    OPERATORS.extractall(folder, [each for each in OPERATORS.namelist() if each.startswith(parts)])
    return folder / f"{name}-symbol.json"


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_mxnet_gives(name: str, tmp_path: Path) -> None:
    data = OPERATORS.read(f"{name}.npz")
    found = interpreted(extracted(name, tmp_path), arrays_of(io.BytesIO(data), "in"))
    wanted = arrays_of(io.BytesIO(data), "out")
    assert all(close(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_what_mxnet_gives(name: str) -> None:
    found = interpreted(SAMPLES / f"{name}-symbol.json", arrays_of(SAMPLES / f"{name}.npz", "in"))
    assert_like_mxnet(name, found)
    assert not {"mxnet"} & set(sys.modules)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_compiled(name: str) -> None:
    inputs = arrays_of(SAMPLES / f"{name}.npz", "in")
    shapes = {"data": inputs[0].shape} if name == "transformer" else {}
    model = stepwell.compile(SAMPLES / f"{name}-symbol.json", input_shapes=shapes)
    assert_like_mxnet(name, [np.asarray(model(*inputs))])


def test_an_input_of_a_convolution_has_its_channels() -> None:
    module = stepwell.read(SAMPLES / "residual-symbol.json")
    assert [str(each) for each in module.inputs] == ["data: float32[data_0, 3, data_2, data_3]"]


def test_an_input_without_a_shape_must_be_given_one() -> None:
    with pytest.raises(stepwell.StepwellError, match="how many dimensions input 'data' has") as caught:
        stepwell.compile(SAMPLES / "transformer-symbol.json")
    assert caught.value.code == "unsupported-dynamic-rank"


def test_reading_twice_gives_the_same_text() -> None:
    assert len({str(stepwell.read(SAMPLES / "mobile-symbol.json")) for _ in range(2)}) == 1
