"""An input that is a vector of bytes of open size has the type of the arena, and is not taken for it."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell import compile
from tests.support.onnx_nodes import node_model


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_bytes_that_only_pass_through(dtype: type) -> None:
    x = np.array([0, 7, 127, 3, 100], dtype)
    model = compile(node_model("Clip", [x], 1, 13, {0: ["N"]}))
    for length in (5, 2):
        np.testing.assert_array_equal(np.asarray(model(x[:length])), x[:length])
