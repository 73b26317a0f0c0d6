"""Products of matrices that a model transposes first."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import stepwell

# (batch, rows, columns, steps)
CASES = [((3,), 29, 13, 33), ((), 5, 70, 17), ((2, 2), 1, 9, 40), ((2,), 40, 1, 21)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("batch", "rows", "columns", "steps"), CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_results(batch: tuple[int, ...], rows: int, columns: int, steps: int, threads: int) -> None:
    a, b = (*batch, steps, rows), (*batch, steps, columns)
    rank = len(a)
    nodes = [
        helper.make_node("Transpose", ["a"], ["t"], perm=[*range(rank - 2), rank - 1, rank - 2]),
        helper.make_node("MatMul", ["t", "b"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("a", a), ("b", b))]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, (*batch, rows, columns))
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(helper.make_graph(nodes, "product", inputs, [output]), opset_imports=opsets)
    onnx.checker.check_model(model)
    rng = np.random.default_rng(rows)
    left, right = (rng.standard_normal(shape).astype(np.float32) for shape in (a, b))
    left[..., 3, 0] = np.inf
    right[..., 1, -1] = np.nan
    with np.errstate(invalid="ignore"):
        expected = np.swapaxes(left, -1, -2).astype(np.float64) @ right.astype(np.float64)
    result = np.asarray(stepwell.compile(model, threads=threads)(left, right), np.float64)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
