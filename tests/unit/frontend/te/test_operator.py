"""`te.operator`: operators of another domain by a formula, from the node to the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest

import stepwell
from stepwell import te
from stepwell.dialects import graph
from stepwell.dialects.plugins.operators import OPERATORS
from stepwell.passes import PassContext

SOFT_CLIP = """
<ir_version: 8, opset_import: ["" : 18, "com.acme" : 1]>
clip (float[N, 3, 8, 8] x, float[4, 3, 3, 3] w, float[4, 1, 1] b) => (float[N, 4, 6, 6] y) {
    p = Conv(x, w)
    q = com.acme.SoftClip<beta = 2.0>(p)
    y = Add(q, b)
}
"""
LEVELS = ("graph", "linalg", "vector", "loops", "llvm")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The operators of these tests, for one test."""
    before = OPERATORS.snapshot()

    @te.operator("com.acme", "SoftClip", beta=1.0)
    def soft_clip(x: te.Tensor, *, beta: float) -> te.Tensor:  # pyright: ignore[reportUnusedFunction]
        return te.compute(x.shape, lambda *i: te.log(1 + te.exp(beta * x[i])) / beta)

    yield
    OPERATORS.restore(before)


def inputs_of_clip() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    shapes = (2, 3, 8, 8), (4, 3, 3, 3), (4, 1, 1)
    return [draw.standard_normal(shape, dtype=np.float32) for shape in shapes]


def expected_clip(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    p = np.einsum("nchwij,ocij->nohw", windows, w)
    return np.log1p(np.exp(2 * p)) / 2 + b


def test_operator_is_fused_with_its_neighbours() -> None:
    compiled = stepwell.compile(onnx.parser.parse_model(SOFT_CLIP))
    arrays = inputs_of_clip()
    assert len(compiled.kernels) == 1
    assert compiled.kernels["k0"].nodes == ("Conv#0", "SoftClip#1", "Add#2")
    found: Any = compiled(*arrays)
    np.testing.assert_allclose(found, expected_clip(*arrays), rtol=1e-4, atol=1e-5)


def test_explanations_name_the_operator() -> None:
    module = stepwell.import_onnx(onnx.parser.parse_model(SOFT_CLIP)).to("graph")
    with PassContext() as context:
        module.run("defuse-ops,fuse-ops{max-ops=1 explain}")
    (conv, clip) = (remark for remark in context.remarks if "not fused" in remark.message)
    assert 'not fused with graph.expression "SoftClip" (<model>: node "SoftClip#1")' in conv.message
    assert clip.where == '<model>: node "SoftClip#1"'


@pytest.mark.sample(6)
@pytest.mark.parametrize("level", LEVELS)
def test_text_of_each_level_needs_no_python(level: str) -> None:
    module = stepwell.import_onnx(onnx.parser.parse_model(SOFT_CLIP)).to(level)
    OPERATORS.restore({})
    again = stepwell.parse(str(module))
    assert str(again) == str(module)
    arrays = inputs_of_clip()
    found: Any = again.compile()(*arrays)
    np.testing.assert_allclose(found, expected_clip(*arrays), rtol=1e-4, atol=1e-5)


def test_level_1_has_one_readable_op() -> None:
    module = stepwell.import_onnx(onnx.parser.parse_model(SOFT_CLIP)).to("graph")
    (op,) = module.walk(graph.ExpressionOp)
    assert op.formula.data == "SoftClip"
    assert op.fusion_kind.name == "ELEMENTWISE"
    arrays = inputs_of_clip()
    found: Any = module.interpret(*arrays)[0]
    np.testing.assert_allclose(found, expected_clip(*arrays), rtol=1e-4, atol=1e-5)
