"""Convolutions of small images, whose filters see zeros around them, against sums in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper

import stepwell

# (image, filters, stride, dilation, pads)
CASES = {
    "same": ((2, 32, 7, 7), (32, 32, 3, 3), 1, 1, (1, 1, 1, 1)),
    "more filter than image": ((1, 16, 3, 5), (16, 16, 7, 7), 1, 1, (3, 3, 3, 3)),
    "one side, strided": ((1, 16, 9, 8), (32, 16, 4, 3), 2, 1, (0, 0, 5, 2)),
    "dilated and strided": ((1, 16, 10, 6), (16, 16, 3, 3), 3, 2, (3, 2, 4, 2)),
    "columns further apart than tiles are wide": ((1, 16, 16, 16), (32, 16, 3, 3), 1, 12, (12, 12, 12, 12)),
    "tiles along rows, narrow and dilated": ((2, 16, 37, 5), (32, 16, 1, 5), 1, 2, (0, 4, 0, 4)),
    "results of zeros alone": ((1, 16, 2, 4), (16, 16, 2, 1), 1, 1, (4, 0, 3, 0)),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", CASES)
def test_convolution(name: str) -> None:
    image, filters, stride, dilation, pads = CASES[name]
    rng = np.random.default_rng(3)
    x, w = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in (image, filters))
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], strides=[stride] * 2, dilations=[dilation] * 2, pads=pads
    )
    graph = helper.make_graph(
        [node],
        "conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    reach = [dilation * (k - 1) + 1 for k in filters[2:]]
    windows = sliding_window_view(padded, reach, (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
    wanted = np.einsum("nchwrs,ocrs->nohw", windows, w)
    result = np.asarray(stepwell.compile(model, winograd="off")(x), np.float64)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
