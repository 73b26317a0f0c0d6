"""Small models that random ones were cut down to, when they failed: each against the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell
from stepwell.runtime.meaning import evaluate
from stepwell.tools.check.reference import reference_evaluator
from tests.onnx_models import onnx_model

MODELS = {
    # A loop that is 1 for all operands took its extent from none.
    "einsum of ones": ("g (float[1, 3, 1] x) => (float[1, 3, 4] y) <float[1, 1, 4] w = {1, 2, 3, 4}>"
                       " { y = Einsum <equation = \"bij,bjk->bik\"> (x, w) }"),
    # Two results of one kernel, both results of the model: buffers were told apart by their contents.
    "two outputs": "g (float[2, 3] x) => (float[1, 2, 3] y, float[2, 3] z) <int64[1] axis = {0}>"
                   " { a = Sigmoid(x)  y = Unsqueeze(a, axis)  z = Neg(a) }",
    # A view with two dynamic strides was not known to be dense.
    "dynamic view": "g (float[2, M, K] x) => (float[2, M, K, 1] y) <int64[1] axis = {3}>"
                    " { a = Unsqueeze(x, axis)  y = Softmax <axis = 1> (a) }",
    # Loops merged over a slice whose last dimension has one element: vectors read elements with gaps.
    "one column": "g (float[5, 5, 1] x) => (float[5, 2, 1] y) <float[5, 2, 1] w"
                  " = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}>"
                  " { y = ConvTranspose <strides = [2]> (x, w) }",
    # The number of tiles, a difference of remainders, bounded no buffer: there is one for each tile.
    "tiles of open sizes": "g (float[A, B, C, D] x) => (float[A, B, C, D] y) <int64 k = {1}>"
                           " { z = Sigmoid(x)  y = Trilu <upper = 1> (z, k) }",
    # What the reference evaluator itself gets wrong, and tools/check/reference_ops.py puts right.
    "response norm": "g (float[1, 4, 2, 2] x) => (float[1, 4, 2, 2] y) { y = LRN <size = 3> (x) }",
    "mean and variance given": "g (float[2, 3, 2] x) => (float[2, 3, 2] y) <float[3] w = {1, 2, 3}>"
                               " { y = BatchNormalization (x, w, w, w, w) }",
    "zeros quantized": "g (float[2, 3] x) => (uint8[2, 3] y, float s, uint8 p) { z = Sub(x, x)"
                       "  y, s, p = DynamicQuantizeLinear(z) }",
    "sum of magnitudes": "g (float[2, 3] x) => (float[2, 3] y) { y = LpNormalization <p = 1> (x) }",
    "collected by a loop": """
        g (float[2, 3] x) => (float[2, 3] y, float[4, 2, 3] z) <int64 n = {4}, bool go = {1}> {
            y, z = Loop (n, go, x) <body = b (int64 i, bool c, float[2, 3] a)
                => (bool d, float[2, 3] s, float[2, 3] t) { d = Identity(c)  s = Neg(a)  t = Abs(a) }>
        }
    """,
    # The symbols of an input that nothing reads reach no kernel.
    "unused input": "g (float[2, 3] x, float[2, 3, P, Q] z) => (float[2, 3] y) { y = Neg(x) }",
}  # fmt: skip

OPSETS = {"mean and variance given": 13}
"""Where the newest meaning is right."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("opt_level", [0, 2])
def test_model(name: str, opt_level: int) -> None:
    model = onnx_model(MODELS[name], OPSETS.get(name, 18))
    rng = np.random.default_rng(0)
    feeds = {
        info.name: rng.standard_normal(
            [d.dim_value or 5 for d in info.type.tensor_type.shape.dim], np.float32
        )
        for info in model.graph.input
    }
    found = stepwell.compile(model, opt_level=opt_level).run(feeds)
    wanted = reference_evaluator(model).run(None, feeds)
    for value, expected in zip(found.values(), wanted, strict=True):
        np.testing.assert_allclose(
            value.astype(np.float32), np.asarray(expected, np.float32), rtol=1e-5, atol=1e-6
        )


def test_a_meaning_gives_a_view_the_digits_of_a_constant() -> None:
    """Folding was not exact: numpy adds in another order when an operand has strides of 0."""
    x = np.random.default_rng(76).standard_normal((2, 7), np.float32)
    view = np.broadcast_to(np.float32(-1.46069098), (1, 4, 1, 2))
    (kept,), (folded,) = (evaluate("graph.matmul", [a, x], {}) for a in (view, view.copy()))
    np.testing.assert_array_equal(kept, folded)
