"""Weights in panels, the last of which zeros fill: larger than text may hold."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.types import dims_of
from stepwell.frontend import import_onnx
from stepwell.passes import run_pipeline

# (columns, steps of the sum, shape of the panels; none where nothing is filled up)
CASES = [
    (47, 400, (1, 400, 48)),
    (63, 384, (2, 384, 32)),
    (63, 383, None),  # cutting the result would cost more
    (49, 400, None),  # too many zeros
    (64, 400, (2, 400, 32)),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize(("columns", "steps", "panels"), CASES)
def test_panels(columns: int, steps: int, panels: tuple[int, ...] | None, transposed: int, rows: int) -> None:
    rng = np.random.default_rng(9)
    shapes = (rows, steps), (steps, columns), (columns,)
    x, w, b = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    held = w.T if transposed else w
    made = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=transposed)],
        "gemm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])],
        [numpy_helper.from_array(np.ascontiguousarray(held), "w"), numpy_helper.from_array(b, "b")],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    ctx = StepwellContext()
    module = import_onnx(model, ctx)
    run_pipeline(module, "convert-onnx-to-graph,fold-constant,pack-weights", ctx)
    product = next(op for op in module.walk() if isinstance(op, graph.MatmulOp))
    assert tuple(dim.value for dim in dims_of(product.b.type)) == (panels or (steps, columns))
    names = [op.name for op in module.walk() if op.name in ("graph.matmul", "graph.bias_add", "graph.slice")]
    assert names == ["graph.matmul", "graph.bias_add", *(["graph.slice"] if panels and columns % 16 else [])]
    result = np.asarray(stepwell.compile(model)(x), np.float64)
    np.testing.assert_allclose(result, x.astype(np.float64) @ w + b, rtol=1e-4, atol=1e-4)
