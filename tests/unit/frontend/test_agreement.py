"""Sizes that an operator needs equal and a model leaves open: a call that breaks them stops."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from tests.onnx_models import onnx_model

W43 = "float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
ONES8 = "{1, 1, 1, 1, 1, 1, 1, 1}"

# Input, result, weights and node, and shapes of `x` that fit and that do not.
MODELS: dict[str, tuple[tuple[str, str, str, str], tuple[int, ...], tuple[int, ...]]] = {
    "matmul": (("float[N, K]", "float[N, 3] y", W43, "y = MatMul(x, w)"), (2, 4), (2, 1)),
    "gemm": (("float[K, N]", "float[N, 3] y", W43, "y = Gemm <transA = 1> (x, w)"), (4, 2), (7, 2)),
    "einsum": (
        ("float[N, K]", "float[N, 3] y", W43, 'y = Einsum <equation = "ij,jk->ik"> (x, w)'),
        (2, 4),
        (2, 1),
    ),
    "conv": (
        ("float[1, C, 3]", "float[1, 1, 2] y", f"float[1, 4, 2] w = {ONES8}", "y = Conv(x, w)"),
        (1, 4, 3),
        (1, 2, 3),
    ),
    "conv_transpose": (
        ("float[1, C, 3]", "float[1, 1, 4] y", f"float[4, 1, 2] w = {ONES8}", "y = ConvTranspose(x, w)"),
        (1, 4, 3),
        (1, 1, 3),
    ),
    "instance_norm": (
        ("float[1, C, 3]", "float[1, C, 3] y", "float[2] s = {1, 2}", "y = InstanceNormalization(x, s, s)"),
        (1, 2, 3),
        (1, 5, 3),
    ),
    "layer_norm": (
        ("float[N, C]", "float[N, C] y", "float[2] s = {1, 2}", "y = LayerNormalization(x, s)"),
        (3, 2),
        (3, 4),
    ),
    "batch_norm": (
        ("float[N, C]", "float[N, C] y", "float[2] s = {1, 2}", "y = BatchNormalization(x, s, s, s, s)"),
        (1, 2),
        (1, 4),
    ),
    "add": (("float[N, C]", "float[N, 3] y", "float[3] s = {1, 2, 3}", "y = Add(x, s)"), (2, 3), (2, 2)),
    "conv_kernel": (
        (
            "float[O, 2, K]",
            "float[1, O, 3] y",
            "float[1, 2, 4] s = {1, 2, 3, 4, 5, 6, 7, 8}",
            "y = Conv <kernel_shape = [2]> (s, x)",
        ),
        (3, 2, 2),
        (3, 2, 3),
    ),
    "hidden_size": (
        (
            "float[1, H, H]",
            "float[1, 1, 1, 2] y",
            "float[1, 1, 2] s = {1, 2}, float[1, 2, 2] w = {1, 2, 3, 4}",
            "y = RNN <hidden_size = 2> (s, w, x)",
        ),
        (1, 2, 2),
        (1, 3, 3),
    ),
    "gather_elements": (
        ("float[2, C]", "float[1, 3] y", "int64[1, 3] i = {0, 1, 0}", "y = GatherElements <axis = 0> (x, i)"),
        (2, 5),
        (2, 2),
    ),
    "top_k": (("float[C]", "float[3] y, int64[3] i", "int64[1] k = {3}", "y, i = TopK(x, k)"), (5,), (2,)),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", MODELS)
def test_a_call_that_does_not_fit(name: str) -> None:
    (x, results, weights, node), good, bad = MODELS[name]
    model = stepwell.compile(onnx_model(f"g ({x} x) => ({results}) <{weights}> {{ {node} }}"))
    assert np.isfinite(model.run({"x": np.ones(good, np.float32)})["y"]).all()
    with pytest.raises(StepwellError, match="must (equal|be|keep) .*found") as caught:
        model.run({"x": np.ones(bad, np.float32)})
    assert caught.value.code == "shape-mismatch" and "node" in caught.value.where


def test_sizes_that_may_be_1() -> None:
    """Of two names either may be 1 when the model runs, whatever the others are; else they are equal."""
    body = "{ s = Mul(x, w) y = Where(c, s, x) }"
    model = stepwell.compile(
        onnx_model(f"g (float[A, B] x, float[C, D] w, bool[E] c) => (float[P, Q] y) {body}")
    )
    rng = np.random.default_rng(0)
    for x, w, c in (((2, 3), (2, 3), 3), ((1, 3), (2, 1), 1), ((2, 1), (1, 4), 4), ((0, 3), (1, 3), 1)):
        feeds = {"x": rng.standard_normal(x), "w": rng.standard_normal(w), "c": rng.integers(0, 2, c)}
        typed = {
            "x": feeds["x"].astype(np.float32),
            "w": feeds["w"].astype(np.float32),
            "c": feeds["c"].astype(bool),
        }
        expected = np.where(typed["c"], typed["x"] * typed["w"], typed["x"])
        np.testing.assert_array_equal(np.asarray(model.run(typed)["y"]), expected)
    with pytest.raises(StepwellError, match="a size must be 3, found 2") as caught:
        model.run({"x": np.ones((2, 3), np.float32), "w": np.ones((3, 3), np.float32), "c": np.ones(3, bool)})
    assert 'node "Mul#0": dimension A must be 1 or the size that it broadcasts to' in caught.value.where


def test_what_a_reshape_leaves_may_be_1() -> None:
    """Elements of an input, divided: gates of each head, or one for all."""
    body = "<int64[2] s = {4, -1}> { a = Reshape(g, s) y = Mul(a, x) }"
    model = stepwell.compile(onnx_model(f"g (float[N] g, float[4, 3] x) => (float[4, 3] y) {body}"))
    x = np.arange(12, dtype=np.float32)
    for gates in (4, 12):
        y = model.run({"g": x[:gates], "x": x.reshape(4, 3)})["y"]
        np.testing.assert_array_equal(np.asarray(y), x[:gates].reshape(4, -1) * x.reshape(4, 3))
    with pytest.raises(StepwellError, match="a size must be 3, found 2"):
        model.run({"g": x[:8], "x": x.reshape(4, 3)})


@pytest.mark.sample(3)
@pytest.mark.parametrize("divisors", [(2, 2), (2, 3)])
def test_what_two_reshapes_leave_may_be_1(divisors: tuple[int, int]) -> None:
    """Either of two quotients of unrelated symbols is 1, or both are equal."""
    a, b = divisors
    body = f"<int64[3] s = {{{a}, 1, -1}}, int64[3] t = {{1, {b}, -1}}>"
    nodes = "{ u = Reshape(x, s) v = Reshape(w, t) z = Mul(u, v) y = Neg(z) }"
    model = stepwell.compile(onnx_model(f"g (float[N] x, float[M] w) => (float[A, B, C] y) {body} {nodes}"))
    data = np.arange(1, 30, dtype=np.float32)
    for n, m in ((1, 4), (4, 1), (3, 3), (1, 1), (0, 1)):
        x, w = data[: n * a], data[: m * b]
        y = np.asarray(model.run({"x": x, "w": w})["y"])
        np.testing.assert_array_equal(y, -x.reshape(a, 1, n) * w.reshape(1, b, m))
    with pytest.raises(StepwellError, match="a size must be"):
        model.run({"x": data[: 2 * a], "w": data[: 3 * b]})
