"""Channels that do not fill their last block: what fills it reaches no result, whatever runs between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import stepwell
from tests.onnx_models import onnx_model
from tests.support.onnx_runtime import reference_session

CHANNELS = 24
"""One block and a half."""


@pytest.mark.sample(4)
@pytest.mark.parametrize("op_type", ["Log", "Reciprocal", "Sqrt", "Exp"])
def test_ops_that_are_not_finite_at_zero(op_type: str) -> None:
    """Log and Reciprocal of the filling are infinite, and infinity times the filters' zeros is NaN."""
    rng = np.random.default_rng(0)
    filters = rng.uniform(0.1, 1, (CHANNELS, CHANNELS, 3, 3)).astype(np.float32)
    model = onnx_model(
        f"g (float[1,{CHANNELS},14,14] x) => (float[1,{CHANNELS},10,10] y) "
        f"{{ a = Conv(x, w) b = {op_type}(a) y = Conv(b, v) }}"
    )
    for name, array in {"w": filters / filters.sum(), "v": -filters[::-1].copy()}.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    x = rng.uniform(0.5, 1, (1, CHANNELS, 14, 14)).astype(np.float32)
    (expected,) = reference_session(model).run(None, {"x": x})
    found: Any = stepwell.compile(model).run(None, {"x": x})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
