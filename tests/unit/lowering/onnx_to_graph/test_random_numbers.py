"""Operators that draw: the same numbers interpreted and compiled, of the distributions that ONNX names."""

from __future__ import annotations

from math import erf, sqrt
from typing import Any

import numpy as np
import onnx
import pytest

import stepwell
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.meaning import Array
from tests.onnx_models import imported, onnx_model

LARGE = 20_000
"""Draws of a test of a distribution; bounds are five standard deviations, and seeds are fixed."""


def _both(text: str, opset: int = 22, **inputs: Array) -> list[dict[str, Any]]:
    """The results of a model compiled, and interpreted op by op."""
    model = onnx_model(text, opset)
    compiled = stepwell.compile(model)
    return [compiled.run(inputs), dict(zip("ym", _interpreted(model, *inputs.values()), strict=False))]


def _interpreted(model: onnx.ModelProto, *inputs: Array) -> list[Any]:
    module, ctx = imported(model)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    return interpret(module, ctx, "main", inputs)


def _drawn(text: str, opset: int = 22, **inputs: Array) -> Any:
    """The numbers y of both stages, which must be equal."""
    compiled, interpreted = _both(text, opset, **inputs)
    np.testing.assert_allclose(compiled["y"], interpreted["y"], rtol=1e-5, atol=1e-6)
    return compiled["y"]


@pytest.mark.parametrize("dtype", [1, 11, 10], ids=["f32", "f64", "f16"])
def test_uniform(dtype: int) -> None:
    """The distribution function differs from the line by what chance explains (Kolmogorov: 1.95 / sqrt n)."""
    name = {1: "float", 11: "double", 10: "float16"}[dtype]
    shape = f"[100, {LARGE // 100}]"
    attributes = f"shape = {shape}, low = -2.0, high = 3.0, seed = 7.0, dtype = {dtype}"
    text = f"g () => ({name}{shape} y) {{ y = RandomUniform <{attributes}> () }}"
    y = np.sort(_drawn(text).astype(np.float64).ravel())
    assert y.min() >= -2 and y.max() <= 3 and len(np.unique(y)) > LARGE // (8 if dtype == 10 else 2)
    assert abs((y + 2) / 5 - np.arange(LARGE) / LARGE).max() < 1.95 / sqrt(LARGE)


def test_normal_like_a_tensor_of_open_size() -> None:
    attributes = "mean = 1.5, scale = 2.0, seed = 0.5"
    text = f"g (float[N, 4] x) => (float[N, 4] y) {{ y = RandomNormalLike <{attributes}> (x) }}"
    y = np.sort(_drawn(text, x=np.zeros((LARGE // 4, 4), np.float32)).ravel())
    expected = np.array([(1 + erf((v - 1.5) / 2 / sqrt(2))) / 2 for v in y.tolist()])
    assert np.isfinite(y).all()
    assert abs(expected - np.arange(LARGE) / LARGE).max() < 1.95 / sqrt(LARGE)


def test_bernoulli_of_certain_and_uncertain_elements() -> None:
    p = np.repeat(np.array([[0.0, 0.25, 1.0]], np.float32), LARGE, 0)
    y = _drawn("g (float[N, 3] p) => (float[N, 3] y) { y = Bernoulli <seed = 3.0> (p) }", p=p)
    assert not y[:, 0].any() and y[:, 2].all()
    assert abs(y[:, 1].mean() - 0.25) < 5 * sqrt(0.25 * 0.75 / LARGE)


def test_multinomial_by_unnormalized_logarithms() -> None:
    """A class without probability is never drawn; adding a number to all logarithms changes nothing."""
    with np.errstate(divide="ignore"):
        logits = np.log(np.array([[2, 0, 6], [0, 0, 1]], np.float32))
    attributes = f"sample_size = {LARGE}, seed = 1.0, dtype = 7"
    text = f"g (float[2, 3] x) => (int64[2, {LARGE}] y) {{ y = Multinomial <{attributes}> (x) }}"
    y = _drawn(text, x=logits)
    counts = [np.bincount(row, minlength=3) / LARGE for row in y]
    assert counts[0][1] == 0 and list(counts[1]) == [0, 0, 1]
    assert abs(counts[0][0] - 0.25) < 5 * sqrt(0.25 * 0.75 / LARGE)


@pytest.mark.parametrize("ratio", [0.0, 0.75])
def test_dropout_in_training(ratio: float) -> None:
    """Elements are dropped with the ratio, and the others scaled; with a ratio of 0 all stay."""
    text = (
        f"g (float[N] x) => (float[N] y, bool[N] m) <float r = {{{ratio}}}, bool t = {{1}}> "
        "{ y, m = Dropout <seed = 4> (x, r, t) }"
    )
    x = np.arange(1, LARGE + 1, dtype=np.float32)
    for result in _both(text, x=x):
        assert np.allclose(result["y"], np.where(result["m"], x / (1 - ratio), 0))
        assert abs(result["m"].mean() - (1 - ratio)) <= 5 * sqrt(ratio * (1 - ratio) / LARGE)


def test_same_seed_same_numbers_and_without_a_seed_others_at_each_call() -> None:
    seeded = "g () => (float[9] y) { y = RandomUniform <shape = [9], seed = %s> () }"
    assert np.array_equal(_drawn(seeded % "1.0"), _drawn(seeded % "1.0"))
    assert not np.array_equal(_drawn(seeded % "1.0"), _drawn(seeded % "1.25"))
    draws = " ".join(f"{name} = RandomUniform <shape = [9]> ()" for name in "ab")
    free = onnx_model(f"g () => (float[9] a, float[9] b) {{ {draws} }}", 22)
    compiled = stepwell.compile(free)
    rows = [compiled.run({})[name] for _ in range(2) for name in "ab"]
    assert len(np.unique(rows)) == 36
    rows = [row for _ in range(2) for row in _interpreted(free)]
    assert len(np.unique(np.stack(rows))) == 36


def test_numbers_do_not_depend_on_threads() -> None:
    text = onnx_model("g (float[N] x) => (float[N] y) { y = RandomNormalLike <seed = 2.0> (x) }", 22)
    x = np.zeros(300_001, np.float32)
    one, two = (stepwell.compile(text, threads=threads)(x) for threads in (1, 2))
    assert np.array_equal(one, two)
