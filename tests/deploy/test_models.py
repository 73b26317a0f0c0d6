"""Models as exported libraries: the bits of the compiled model, or a refusal. `make deploy`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools.inputs import completed_inputs
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
    wanted, found = model.run(feeds), stepwell.load(library).run(feeds)
    for name, array in wanted.items():
        assert array.dtype == found[name].dtype and array.shape == found[name].shape
        assert array.tobytes() == found[name].tobytes(), name
