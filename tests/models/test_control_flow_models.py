"""Networks with branches and loops against ONNX Runtime: one compilation for all sizes."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell
from benchmarks.zoo import model_path
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.measure.peers import onnxruntime_session

Feeds = dict[str, Array]


def compiled(name: str) -> CompiledModel:
    path = model_path(name)
    if path is None:
        pytest.skip(f"{name}: STEPWELL_MODELS names no folder that has it")
    return stepwell.compile(path)


def expect_same(model: CompiledModel, name: str, feeds: Feeds) -> None:
    path = model_path(name)
    assert path is not None
    session = onnxruntime_session(path, threads=1, optimize=False)
    names = [output.name for output in session.get_outputs()]
    expected = dict(zip(names, session.run(None, feeds), strict=True))
    found = model.run(feeds)
    for output, wanted in expected.items():
        assert found[output].shape == wanted.shape
        assert relative_difference(found[output], wanted) <= allowed_of_model(wanted.dtype)


@pytest.mark.slow
def test_a_decoder_that_stops_by_itself() -> None:
    model, rng = compiled("greedy_loop"), np.random.default_rng(0)
    for start in (3, 5, 77):
        state = rng.standard_normal((1, 128)).astype(np.float32)
        expect_same(model, "greedy_loop", {"start": np.array([start]), "h0": state})


def silero_feeds(batch: int, samples: int) -> Feeds:
    rng = np.random.default_rng(batch)
    return {
        "input": 0.1 * rng.standard_normal((batch, samples)).astype(np.float32),
        "state": 0.1 * rng.standard_normal((2, batch, 128)).astype(np.float32),
        "sr": np.array(16000),
    }


@pytest.mark.slow
def test_branches_on_sizes() -> None:
    model = compiled("silero_if")
    for batch, samples in ((1, 576), (2, 512), (3, 320)):
        expect_same(model, "silero_if", silero_feeds(batch, samples))
    with pytest.raises(StepwellError, match="other branch gives results of another rank"):
        model.run(silero_feeds(1, 1000))
