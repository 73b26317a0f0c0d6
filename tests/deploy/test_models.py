"""Models as exported libraries: the bits of the compiled model, or a refusal; and as C. `make deploy`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import stepwell
from stepwell.lowering.c_math import MATH_FUNCTIONS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.code import LinkedCode
from stepwell.tools.inputs import completed_inputs
from tests.support.c_sources import run_source
from tests.support.components import needs_program
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

FOLDERS = [ROOT / "tests" / "models", ROOT / "examples"]
if folder := os.environ.get("STEPWELL_MODELS"):
    FOLDERS.append(Path(folder))
FILES = sorted({file.name: file for folder in FOLDERS for file in folder.glob("*.onnx")}.values())
SIZES = {"silero_if.onnx": {"input": (1, 512)}}
"""Sizes that a model needs, where it does not take any."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_exported_model_has_the_bits_of_the_compiled_one(path: Path, tmp_path: Path) -> None:
    model = stepwell.compile(path, threads=1)
    library = tmp_path / "m.so"
    try:
        stepwell.export(model, library)
    except StepwellError as error:
        # What programs in C cannot have is refused before a file is written.
        assert error.code in ("needs-host", "unsupported-interface", "undefined-symbol"), error
        assert not list(tmp_path.iterdir())
        pytest.skip(f"{path.name}: {error.code}: {error.message}")
    feeds = completed_inputs(model.interface, {}, 0, SIZES.get(path.name, {}), "random")
    code = model.variant.code
    calls = MATH_FUNCTIONS & {*(code.outside if isinstance(code, LinkedCode) else ())}
    wanted, found = model.run(feeds), stepwell.load(library).run(feeds)
    for name, array in wanted.items():
        assert array.dtype == found[name].dtype and array.shape == found[name].shape
        if calls:  # whose counterparts in the file are others
            own: Any = found[name]
            np.testing.assert_allclose(own, cast(Any, array), rtol=1e-5, atol=1e-5)
        else:
            assert array.tobytes() == found[name].tobytes(), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_as_c_is_within_rounding_of_the_compiled_one(path: Path, tmp_path: Path) -> None:
    if path.stat().st_size > 4 << 20:
        pytest.skip(f"{path.name}: its text would take minutes to compile")
    needs_program("gcc")
    model = stepwell.compile(path, threads=1)
    feeds = completed_inputs(model.interface, {}, 0, SIZES.get(path.name, {}), "random")
    inputs = [np.asarray(feeds[spec.name]) for spec in model.interface.inputs]
    try:
        found = run_source(path, inputs, tmp_path, "-O2")
    except StepwellError as error:
        assert error.code in ("needs-host", "unsupported-interface", "undefined-symbol"), error
        pytest.skip(f"{path.name}: {error.code}: {error.message}")
    for spec, array in zip(model.interface.outputs, found, strict=True):
        wanted = np.asarray(model.run(feeds)[spec.name], np.float64)
        scale = float(np.abs(wanted).max()) if wanted.size else 1.0
        np.testing.assert_allclose(array.astype(np.float64), wanted, rtol=1e-4, atol=1e-4 * max(scale, 1e-3))
