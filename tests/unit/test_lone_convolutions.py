"""In which layout a convolution runs that nothing around it wants in blocks."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.passes import run_pipeline

# (image, filters, stride, groups, whether it runs in blocks)
CASES = [
    ((1, 32, 14, 14), (32, 32, 1, 1), 1, 1, False),
    ((1, 64, 7, 7), (64, 64, 1, 1), 1, 1, True),  # the 4th vector of pixels would hold one
    ((1, 64, 1, 1), (64, 64, 1, 1), 1, 1, True),
    ((1, 16, 7, 7), (16, 16, 1, 1), 1, 1, False),  # conversions would take longer
    ((1, 32, 28, 28), (32, 1, 3, 3), 1, 32, False),
    ((1, 32, 28, 28), (32, 1, 3, 3), 2, 32, True),  # rows of 13
    ((1, 3, 40, 40), (32, 3, 3, 3), 2, 1, False),
    ((1, 3, 40, 40), (32, 3, 7, 7), 2, 1, True),
    ((1, 3, 64, 64), (32, 3, 4, 4), 4, 1, True),
    ((1, 32, 28, 28), (32, 32, 3, 3), 1, 1, True),
]


@pytest.mark.parametrize(("image", "filters", "stride", "groups", "in_blocks"), CASES)
def test_layout(
    image: tuple[int, ...], filters: tuple[int, ...], stride: int, groups: int, in_blocks: bool
) -> None:
    conv = helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride] * 2, group=groups)
    model = helper.make_model(
        helper.make_graph(
            [conv],
            "lone",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
            [onnx.ValueInfoProto(name="y")],
            [numpy_helper.from_array(np.ones(filters, np.float32), "w")],
        )
    )
    ctx = StepwellContext()
    module = import_onnx(onnx.shape_inference.infer_shapes(model), ctx)
    run_pipeline(module, "convert-onnx-to-graph,fold-constant,convert-layout", ctx)
    made = next(op for op in module.walk() if isinstance(op, graph.ConvOp))
    assert (made.out_layout is not None or made.data_layout.data != "NCHW") == in_blocks
