"""Whole networks against ONNX Runtime without optimizations; one compilation for all sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import stepwell
from benchmarks.zoo import F32_MODELS, OPEN_MODELS, QUANTIZED_MODELS, Model, model_path
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.measure.peers import onnxruntime_session

# Run by every `make test`; `make models` runs all. A convolutional network among the cases of ONNX runs too.
SAMPLE = ("silero_seq", "bert_mini_dyn")
# The kernels of whole networks go through worker processes, as text.
pytestmark = pytest.mark.usefixtures("kernel_workers")
STEP = 1 / 255
"""One step of a byte that spans the range of an output."""


def _cases() -> Iterator[object]:
    for name, model in OPEN_MODELS.items():
        yield pytest.param(model, id=f"{name}-open", marks=pytest.mark.slow)
    for name, model in F32_MODELS.items():
        yield pytest.param(model, id=name, marks=[] if name in SAMPLE else [pytest.mark.slow])


@pytest.mark.parametrize("model", list(_cases()))
def test_model_agrees_with_onnxruntime(model: Model) -> None:
    path = model_path(model.name)
    if path is None:
        pytest.skip(f"{model.name}: STEPWELL_MODELS names no folder that has it")
    compiled = stepwell.compile(path, input_shapes=model.input_shapes())
    for shapes in ({}, *model.sizes):
        feeds = model.feeds(seed=1, shapes=shapes)
        _expect_same(compiled.run(feeds), _reference(path, feeds), _allowed(path, feeds))


@pytest.mark.slow
@pytest.mark.parametrize("model", QUANTIZED_MODELS.values(), ids=QUANTIZED_MODELS)
def test_quantized_model_agrees_with_onnxruntime(model: Model) -> None:
    """
    Floats that are rounded in another order move a few bytes by one step, and these others, in any engine.

    How far that goes depends on the inputs: ONNX Runtime's optimizations show it over several of them.
    """
    path = model_path(model.name)
    if path is None:
        pytest.skip(f"{model.name}: STEPWELL_MODELS names no folder that has it")
    compiled = stepwell.compile(path)
    for shapes in ({}, *model.sizes):
        several = [model.feeds(seed=seed, shapes=shapes) for seed in range(1, 5)]
        allowed = max(STEP, *(_allowed(path, feeds) for feeds in several))
        for feeds in several:
            _expect_same(compiled.run(feeds), _reference(path, feeds), allowed, quantized=True)


def _reference(path: Path, feeds: Mapping[str, Array], *, optimize: bool = False) -> dict[str, Array]:
    session = onnxruntime_session(path, 2, optimize=optimize)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, map(np.asarray, session.run(None, dict(feeds))), strict=True))


def _allowed(path: Path, feeds: Mapping[str, Array]) -> float:
    """1e-4 of the output's range, or twice what ONNX Runtime's own optimizations change, if that is more."""
    plain, optimized = _reference(path, feeds), _reference(path, feeds, optimize=True)
    own = max(relative_difference(optimized[name], plain[name]) for name in plain)
    return max(2 * own, *(allowed_of_model(array.dtype) for array in plain.values()))


def _expect_same(
    found: Mapping[str, Array], expected: Mapping[str, Array], allowed: float, *, quantized: bool = False
) -> None:
    assert list(found) == list(expected)
    for name, wanted in expected.items():
        assert found[name].dtype == wanted.dtype
        assert relative_difference(found[name], wanted) <= max(
            allowed, allowed_of_model(wanted.dtype, quantized=quantized)
        ), name
