"""Small models that random ones were cut down to, when they failed: each against the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell
from stepwell.tools.reference import reference_evaluator
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
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("opt_level", [0, 2])
def test_model(name: str, opt_level: int) -> None:
    model = onnx_model(MODELS[name])
    info = model.graph.input[0].type.tensor_type.shape.dim
    shape = [dim.dim_value or 5 for dim in info]
    feeds = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    found = stepwell.compile(model, opt_level=opt_level).run(feeds)
    wanted = reference_evaluator(model).run(None, feeds)
    for value, expected in zip(found.values(), wanted, strict=True):
        np.testing.assert_allclose(
            value.astype(np.float32), np.asarray(expected, np.float32), rtol=1e-5, atol=1e-6
        )
