"""Sessions of `stepwell.onnxruntime` over whole networks: what ONNX Runtime's give, by the same program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.onnxruntime as ort
from benchmarks.zoo import F32_MODELS, Model, model_path
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from tests.support.components import needs

ort_itself = needs("onnxruntime")
pytestmark = [pytest.mark.usefixtures("kernel_workers"), pytest.mark.slow]


def _program(module: Any, path: Path, feeds: Mapping[str, Array]) -> tuple[object, list[Array]]:
    """The signature and the outputs, by calls that are the same for both engines."""
    options = module.SessionOptions()
    session = module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = [(arg.name, arg.type, list(arg.shape)) for arg in session.get_inputs()]
    outputs = [(arg.name, arg.type, len(arg.shape)) for arg in session.get_outputs()]
    found = session.run([name for name, _, _ in outputs], {name: feeds[name] for name, _, _ in inputs})
    return (inputs, outputs), [np.asarray(each) for each in found]


@pytest.mark.parametrize("model", F32_MODELS.values(), ids=F32_MODELS)
def test_a_session_does_what_onnxruntime_does(model: Model) -> None:
    path = model_path(model.name)
    if path is None:
        pytest.skip(f"{model.name}: STEPWELL_MODELS names no folder that has it")
    feeds = model.feeds(seed=3)
    described, found = _program(ort, path, feeds)
    described_there, expected = _program(ort_itself, path, feeds)
    assert described == described_there
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert relative_difference(ours, theirs) <= allowed_of_model(theirs.dtype)
