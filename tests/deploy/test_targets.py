"""
The models of the zoo for every target: each file that goes with it is written, which links all of its code;
models of little work run too, by an emulator, and are compared. `make deploy`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stepwell
from benchmarks.zoo import F32_MODELS, OPEN_MODELS, QUANTIZED_MODELS, Model, model_path
from stepwell.lowering.export.emulator.boards import board_of
from stepwell.lowering.export.emulator.model import EmulatedModel
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.suffixes import PROJECT_SUFFIX, SYSTEM_SUFFIXES, WASM_SUFFIXES
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.demands import system_of
from stepwell.runtime.machine.target import C_TARGET
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.tools.inputs import completed_inputs
from tests.deploy.test_emulated import TARGETS
from tests.support.components import MISSING
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

MODELS: Mapping[str, Model | None] = {"digits": None, **F32_MODELS, **OPEN_MODELS, **QUANTIZED_MODELS}
LITTLE = {
    "digits",
    "magika",
    "gru_seq",
    "silero_seq",
    "light_squeezenet",
    "light_shufflenet",
    "skl_gbr",
    "skl_rf",
    "bert_mini_dyn",
    "bert_mini_dynq",
}
"""Models of at most 0.7 GFLOP: an emulator runs them in a minute."""
BIG_BYTES = 64 << 20
"""Files of larger models are written once, as what needs most: a library."""
REFUSED = ("needs-host", "unsupported-interface", "too-large")
ROWS = [row.name for row in cpu_rows().values() if row.name != C_TARGET]
CASES = [(row, list(MODELS)[(i + j) % len(MODELS)]) for i in range(len(MODELS)) for j, row in enumerate(ROWS)]
"""Each model for each target; a run that is ended early has had each target, each with other models."""


@cache
def compared(name: str) -> tuple[dict[str, Array], Mapping[str, Array]]:
    """The inputs of a model, and its outputs on this machine."""
    path, model = file_of(name)
    compiled = stepwell.compile(path, threads=1, input_shapes=model.input_shapes() if model else {})
    feeds = model.feeds() if model else completed_inputs(compiled.interface, {}, 0, {}, "random")
    return feeds, compiled.run(feeds)


def file_of(name: str) -> tuple[Path, Model | None]:
    """The file of a model; the test is skipped where there is none."""
    model = MODELS[name]
    path = ROOT / "examples/digits.onnx" if model is None else model_path(name)
    if path is None:
        pytest.skip(f"STEPWELL_MODELS names no folder with {name}")
    return path, model


def suffixes_of(triple: str, size: int) -> tuple[str, ...]:
    """The suffixes of files for a target, those of large models aside."""
    if triple.startswith("wasm32"):
        return WASM_SUFFIXES[:1] if size > BIG_BYTES else WASM_SUFFIXES
    own = SYSTEM_SUFFIXES[system_of(triple)]
    return own[-1:] if size > BIG_BYTES else (*own, PROJECT_SUFFIX)


@pytest.mark.parametrize(("mcpu", "name"), CASES)
def test_a_model_has_each_file_of_each_target(mcpu: str, name: str, tmp_path: Path) -> None:
    path, model = file_of(name)
    compiled = stepwell.compile(path, mcpu=mcpu, input_shapes=model.input_shapes() if model else {})
    for suffix in suffixes_of(cpu_rows()[mcpu].triple, path.stat().st_size):
        try:
            stepwell.export(compiled, tmp_path / f"m{suffix}")
        except StepwellError as error:
            assert error.code in REFUSED, error
            pytest.skip(f"{name} for {mcpu}: {error.code}: {error.message}")
    if name not in LITTLE or mcpu not in TARGETS:
        return
    if shutil.which(command := cpu_rows()[mcpu].emulator.split()[0]) is None:
        MISSING.add(command)
        pytest.skip(f"{command} is not installed; the files are there")
    feeds, wanted = compared(name)
    try:
        found = EmulatedModel(compiled.image).run(feeds)
    except StepwellError as error:
        if error.code != "too-large" or not board_of(cpu_rows()[mcpu].emulator):
            raise
        pytest.skip(f"{name} for {mcpu}: {error.message}; the files are there")
    # Activations of quantized models that are near the middle of two values may get either.
    tolerance = 3e-2 if name in QUANTIZED_MODELS else 1e-3
    for output, array in wanted.items():
        scale = max(1e-3, float(np.abs(np.asarray(array, np.float64)).max(initial=0)))
        np.testing.assert_allclose(
            np.asarray(found[output], np.float64), np.asarray(array, np.float64), atol=tolerance * scale
        )
