"""Whole models in and out: ONNX to IR to text to IR to ONNX is the same model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.verify import verify_module
from stepwell.frontend import export_onnx, import_onnx
from stepwell.runtime.environment import MODELS
from tests.onnx_models import check, load, normal_form, run, through_text

SHIPPED = Path(__file__).resolve().parents[2] / "models"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
MAX_TEXT_BYTES = 400_000
"""Parsing is the slow part: larger models are not taken through text."""


def model_files() -> list[Path]:
    """The shipped models, those of the onnx package, and those in the folder of big models."""
    folders = [SHIPPED, LIGHT]
    if extra := MODELS.value():
        folders.append(Path(extra))
    return [file for folder in folders for file in sorted(folder.glob("*.onnx"))]


@pytest.mark.filterwarnings("ignore::stepwell.frontend.ModelWarning")
@pytest.mark.sample(16)
@pytest.mark.parametrize("file", model_files(), ids=lambda file: file.stem)
def test_models_come_back(file: Path) -> None:
    """Every model is exported as it was imported, through the text of the IR too."""
    model = load(file)
    if sum(f.stat().st_size for f in file.parent.glob(f"{file.stem}.*")) > 60_000_000:
        pytest.skip("export makes a copy of all weights")
    ctx = StepwellContext()
    module = import_onnx(file, ctx)
    verify_module(module)
    if len(str(module)) < MAX_TEXT_BYTES:
        module = through_text(module, ctx)
    assert normal_form(export_onnx(module, ctx)) == normal_form(model, str(file.parent))


@pytest.mark.parametrize("name", ["gru_seq", "silero_seq"])
def test_outputs_are_the_same(name: str) -> None:
    """The exported model computes what the original does."""
    file = SHIPPED / f"{name}.onnx"
    ctx = StepwellContext()
    exported = export_onnx(import_onnx(file, ctx), ctx)
    check(exported)
    rng = np.random.default_rng(7)
    inputs = {
        info.name: rng.standard_normal(
            [dim.dim_value or 5 for dim in info.type.tensor_type.shape.dim]
        ).astype("f4")
        for info in exported.graph.input
    }
    for ours, theirs in zip(run(exported, inputs), run(load(file), inputs), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_path_bytes_and_a_message_are_the_same_model() -> None:
    """Weights that are mapped, views of the bytes, or copies of a message have the same hashes."""
    file = SHIPPED / "gru_seq.onnx"
    texts: list[str] = []
    for source in (file, str(file), file.read_bytes(), load(file)):
        module = import_onnx(source, StepwellContext())
        texts.append(str(module))
    assert len(set(texts)) == 1
