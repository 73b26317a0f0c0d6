"""In which layout convolutions run, and what they compute there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import stepwell
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
    ((1, 3, 65, 65), (32, 3, 3, 3), 2, 1, False),
    ((1, 3, 40, 40), (32, 3, 3, 3), 2, 1, True),  # rows of 19
    ((1, 3, 12, 21), (64, 3, 5, 5), 1, 1, True),  # rows of 17
    ((1, 32, 20, 20), (25, 32, 5, 5), 1, 1, False),  # rows of 16
    ((1, 32, 20, 9), (17, 32, 5, 5), 2, 1, True),  # rows of 3
    ((1, 3, 40, 40), (32, 3, 7, 7), 2, 1, True),
    ((1, 3, 64, 64), (32, 3, 4, 4), 4, 1, True),
    ((1, 32, 28, 28), (32, 32, 3, 3), 1, 1, True),
    ((1, 32, 9, 9), (64, 16, 3, 3), 1, 2, True),
    ((1, 32, 9, 9), (16, 16, 3, 3), 1, 2, False),  # 8 filters a group
]


@pytest.mark.parametrize(("image", "filters", "stride", "groups", "in_blocks"), CASES)
def test_layout(
    image: tuple[int, ...], filters: tuple[int, ...], stride: int, groups: int, in_blocks: bool
) -> None:
    made = _converted(image, filters, stride, groups, "convert-layout")
    assert (made.out_layout is not None or made.data_layout.data != "NCHW") == in_blocks


@pytest.mark.parametrize(("kernel", "filters"), [(1, "OIHW16o"), (3, "OIHW16i16o")])
def test_steps_past_pixels_read_plain_images(kernel: int, filters: str) -> None:
    made = _converted((1, 64, 15, 15), (64, 64, kernel, kernel), 2, 1, "convert-layout")
    assert made.kernel_layout.data == filters


@pytest.mark.parametrize(("option", "filters"), [("true", "OIHW16i16o"), ("false", "OIHW16o")])
def test_windows_for_winograd_are_blocks(option: str, filters: str) -> None:
    made = _converted((1, 34, 9, 9), (64, 34, 3, 3), 1, 1, f"convert-layout{{winograd={option}}}")
    assert made.kernel_layout.data == filters


def _converted(
    image: tuple[int, ...], filters: tuple[int, ...], stride: int, groups: int, step: str
) -> graph.ConvOp:
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
    run_pipeline(module, f"convert-onnx-to-graph,fold-constant,{step}", ctx)
    return next(op for op in module.walk() if isinstance(op, graph.ConvOp))


# (channels, filters, kernel, stride, groups) of convolutions, one after another
CHAINS = {
    "groups read plain": [(32, 64, 3, 1, 2)],
    "groups read blocks": [(16, 64, 1, 1, 1), (64, 32, 3, 2, 2), (32, 48, 3, 1, 1)],
    "parts of blocks": [(16, 48, 1, 1, 1), (48, 64, 3, 1, 2)],
    "steps over pixels": [(35, 40, 1, 2, 1)],
    "few filters, short rows": [(32, 17, 3, 3, 1), (17, 33, 3, 1, 1), (33, 5, 1, 1, 1)],
    "last block not full": [(29, 31, 5, 1, 1), (31, 16, 2, 2, 1)],
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", CHAINS)
def test_results(name: str) -> None:
    rng = np.random.default_rng(5)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    for i, (channels, filters, kernel, stride, groups) in enumerate(CHAINS[name]):
        shape = (filters, channels // groups, kernel, kernel)
        weights.append(numpy_helper.from_array(rng.uniform(-1, 1, shape).astype(np.float32), f"w{i}"))
        names = [f"x{i}", f"w{i}"], [f"x{i + 1}"]
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", *names, strides=[stride] * 2, group=groups, pads=pads))
    image = (2, CHAINS[name][0][0], 9, 11)
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, image)
    y = helper.make_tensor_value_info(f"x{len(nodes)}", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    feeds = {"x0": rng.uniform(-1, 1, image).astype(np.float32)}
    (wanted,) = ReferenceEvaluator(model).run(None, feeds)
    result = np.asarray(stepwell.compile(model)(feeds["x0"]), np.float64)
    np.testing.assert_allclose(result, np.asarray(wanted), rtol=1e-4, atol=1e-4)
