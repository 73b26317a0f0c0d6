"""`input_shapes` for sizes that the model's file fixes: computed where the graph allows it, else an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper
from onnx.shape_inference import infer_shapes

import stepwell
from stepwell.tools import cli
from tests.onnx_models import onnx_model

W = np.arange(24, dtype=np.float32).reshape(8, 3)
X = np.arange(32, dtype=np.float32).reshape(4, 2, 4) - 15
Weights = dict[str, npt.NDArray[np.generic]]


def model(body: str, **weights: npt.NDArray[np.generic]) -> onnx.ModelProto:
    made = onnx_model(body)
    for name, array in weights.items():
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return made


FLATTEN = "g (float[1, 2, 4] x) => (float[1, 3] y) { h = Flatten(x) z = MatMul(h, w) y = Relu(z) }"
CONV = "g (float[1, 1, 8, 8] x) => (float[1, 1, 6, 6] y) { y = Conv(x, k) }"
TO_SHAPE = """g (float[1, 2, 4] x) => (float[1, 8] y) {
    s = Shape(x)
    n = Gather(s, zero)
    t = Concat<axis = 0>(n, rest)
    y = Reshape(x, t)
}"""
LOOP = """g (float[1, 2, 4] x) => (float[1, 2, 4] y) <int64 n = {3}, bool go = {1}> {
    y = Loop(n, go, x) <body = b (int64 i, bool c, float[1, 2, 4] a) => (bool d, float[1, 2, 4] s) {
        d = Identity(c)
        s = Add(a, a)
    }>
}"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (model(FLATTEN, w=W), np.maximum(X.reshape(4, 8) @ W, 0)),
        (infer_shapes(model(FLATTEN, w=W)), np.maximum(X.reshape(4, 8) @ W, 0)),
        (model(TO_SHAPE, zero=np.array([0]), rest=np.array([-1])), X.reshape(4, 8)),
        (model(LOOP), X * 8),
        (model("g (float[1,2,4] x) => (float[1,2,4] y) { y = Add(x, c) }", c=X[:1]), X + X[:1]),
    ],
    ids=["flatten", "with value_info", "shape arithmetic", "loop", "broadcast constant"],
)
def test_a_batch_that_the_file_fixes_is_another(
    made: onnx.ModelProto, expected: npt.NDArray[np.float32], tmp_path: Path
) -> None:
    f = stepwell.compile(made, input_shapes={"x": (4, 2, 4)}, opt_level=0)
    assert f.inputs[0].shape == X.shape and f.outputs[0].shape == expected.shape
    np.testing.assert_allclose(np.asarray(f(X), np.float32), expected, rtol=1e-6)
    path = tmp_path / "m.onnx"
    onnx.save(made, path)  # pyright: ignore[reportUnknownMemberType]
    for source in (path, stepwell.read(path)):
        again = stepwell.compile(source, input_shapes={"x": (4, 2, 4)}, opt_level=0)
        np.testing.assert_array_equal(again(X), f(X))
    lowered = stepwell.read(path).to("vector", input_shapes={"x": (4, 2, 4)}, opt_level=0)
    np.testing.assert_array_equal(lowered.compile()(X), f(X))


def test_other_sizes_than_the_batch() -> None:
    """Of a convolution, whose results have other sizes then."""
    made = model(CONV, k=np.ones((1, 1, 3, 3), np.float32))
    f = stepwell.compile(made, input_shapes={"x": (2, 1, 5, 9)})
    assert f.outputs[0].shape == (2, 1, 3, 7)
    np.testing.assert_array_equal(f(np.ones((2, 1, 5, 9), np.float32)), np.full((2, 1, 3, 7), 9, np.float32))


REFUSED: dict[str, tuple[onnx.ModelProto, tuple[int, ...], list[str]]] = {
    "a constant shape": (
        model("g (float[1, 2, 4] x) => (float[1, 8] y) { y = Reshape(x, s) }", s=np.array([1, 8])),
        (4, 2, 4),
        ["Reshape#0", "shape (1, 8) has other elements than (4, 2, 4)"],
    ),
    "rows of the batch in one": (
        model("g (float[1, 2, 4] x) => (float[1, 8] y) { y = Reshape(x, s) }", s=np.array([1, -1])),
        (4, 2, 4),
        ["Reshape#0", "would be (1, 32)", "would not stay apart"],
    ),
    "rows of the batch in a product": (
        model(
            "g (float[1, 2, 4] x) => (float[1, 3] y) { h = Reshape(x, s) y = MatMul(h, w) }",
            s=np.array([1, -1]),
            w=W,
        ),
        (4, 2, 4),
        ["MatMul#1", "contracted dimensions must be equal, found 32 in a and 8 in b"],
    ),
    "an initial state": (
        model(
            "g (float[2, 1, 8] x) => (float[2, 1, 1, 3] y) { y = RNN<hidden_size = 3>(x, w, r, , , h) }",
            w=np.ones((1, 3, 8), np.float32),
            r=np.ones((1, 3, 3), np.float32),
            h=np.ones((1, 1, 3), np.float32),
        ),
        (2, 4, 8),
        ["RNN#0", "h0 must have shape (1, 4, 3), found (1, 1, 3)"],
    ),
    "channels": (model(CONV, k=np.ones((1, 1, 3, 3), np.float32)), (1, 2, 8, 8), ["Conv#0"]),
}


@pytest.mark.parametrize(("made", "shape", "texts"), REFUSED.values(), ids=REFUSED)
def test_sizes_that_the_graph_does_not_allow(
    made: onnx.ModelProto, shape: tuple[int, ...], texts: list[str]
) -> None:
    with pytest.raises(stepwell.StepwellError) as failed:
        stepwell.compile(made, input_shapes={"x": shape})
    assert failed.value.code == "shape-mismatch"
    text = str(failed.value)
    assert all(part in text for part in texts), text
    assert "of 'x' is" in text and "in the model's file, here" in text
    assert "= help: export the model with a dynamic dimension" in text


def test_programs_of_level_1_are_not_inferred_again() -> None:
    m = stepwell.import_onnx(model(FLATTEN, w=W)).to("graph")
    with pytest.raises(stepwell.StepwellError, match="the types of its values are not inferred again"):
        m.compile(input_shapes={"x": (4, 2, 4)})


def test_the_command_line_takes_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(FLATTEN, w=W), path)  # pyright: ignore[reportUnknownMemberType]
    assert cli.main(["run", str(path), "--input-shape", "x=4x2x4"]) == 0
    assert "y: float32[4, 3]" in capsys.readouterr().out
