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
    "gather_elements": (
        ("float[2, C]", "float[1, 3] y", "int64[1, 3] i = {0, 1, 0}", "y = GatherElements <axis = 0> (x, i)"),
        (2, 5),
        (2, 2),
    ),
    "top_k": (
        ("float[C]", "float[3] y, int64[3] i", "int64[1] k = {3}", "y, i = TopK(x, k)"),
        (5,),
        (2,),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_call_that_does_not_fit(name: str) -> None:
    (x, results, weights, node), good, bad = MODELS[name]
    model = stepwell.compile(onnx_model(f"g ({x} x) => ({results}) <{weights}> {{ {node} }}"))
    assert np.isfinite(model.run({"x": np.ones(good, np.float32)})["y"]).all()
    with pytest.raises(StepwellError, match="must equal .*, found") as caught:
        model.run({"x": np.ones(bad, np.float32)})
    assert caught.value.code == "shape-mismatch"
