"""The advice of errors leads on: whoever follows it meets no error that gives the same advice again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.onnx_models import onnx_model

X = np.array([0, 1, 2, 3], np.float32)
RECURSIVE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
CALLS = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) {
    %b = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  %y = graph.call %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.call @g(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %u = func.call @g(%z) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %u : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def refused(path: Path | object, **shapes: tuple[int, ...]) -> StepwellError:
    with pytest.raises(StepwellError) as error:
        stepwell.compile(path, input_shapes=shapes)  # pyright: ignore[reportArgumentType]
    return error.value


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_recursion_and_calls_are_compiled(tmp_path: Path) -> None:
    assert stepwell.compile(written(tmp_path / "recursive.mlir", RECURSIVE)).image.program
    np.testing.assert_array_equal(stepwell.compile(written(tmp_path / "calls.mlir", CALLS))(X), -4 * X)


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (
            ("4xf32> {\n  %y = graph.add", "4xf32> attributes {skip_optimization} {\n  %y = graph.add"),
            "remove `skip_",
        ),
        (("graph.call @g(%y)", "graph.call @h(%y)"), "define @h in the module"),
    ],
)
def test_calls_that_cannot_be_compiled(change: tuple[str, str], advice: str, tmp_path: Path) -> None:
    text = re.sub(
        r"  %f = [^}]*}\n  %y = .*\n", "  %y = graph.neg %x : tensor<4xf32> -> tensor<4xf32>\n", CALLS
    )
    error = refused(written(tmp_path / "m.mlir", text.replace(*change)))
    assert error.help is not None and advice in error.help


def test_a_size_that_the_file_fixes(tmp_path: Path) -> None:
    """A call says how to compile for another size; sizes in the text of a model can be edited too."""
    model = onnx_model("g (float[1, 4] x) => (float[1, 4] y) { h = Neg(x) y = Relu(h) }")
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    rows = np.stack([X, -X])
    with pytest.raises(StepwellError, match="dimension 0 must be 1, found 2") as error:
        stepwell.compile(path)(rows)
    assert error.value.help is not None and "input_shapes in Python" in error.value.help
    expected = np.maximum(-rows, 0)
    np.testing.assert_array_equal(stepwell.compile(path, input_shapes={"x": (2, 4)})(rows), expected)
    text = tmp_path / "model.mlir"
    assert cli.main(["compile", str(path), "--emit", "onnx", "-o", str(text)]) == 0
    written(text, text.read_text(encoding="utf-8").replace("tensor<1x4x", "tensor<2x4x"))
    np.testing.assert_array_equal(stepwell.compile(text)(rows), expected)


def test_shapes_that_do_not_go_together() -> None:
    model = onnx_model("g (float[N, 4] x, float[N] z) => (float[N] y) { y = Relu(z) }")
    assert refused(model, x=(2, 4, 1)).help == "give as many dimensions as the model has"
    assert refused(model, x=(2, 4), z=(3,)).help == "give all dimensions named N one size: another one is 2"


@pytest.mark.parametrize(
    ("size", "advice"), [("N", "for example with --input-shape"), ("8", "data decide it")]
)
def test_a_size_that_data_decide(size: str, advice: str) -> None:
    """Where the inputs have fixed shapes, nobody is told to fix them."""
    model = onnx_model(f"g (float[{size}] x) => (int64[A] y) {{ n = NonZero(x) y = Squeeze(n) }}", opset=17)
    found = refused(model).help
    assert found is not None and advice in found


def test_a_tuple_is_no_result(tmp_path: Path) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
      %t = graph.tuple %x, %x : tensor<4xf32>, tensor<4xf32>
      func.return %t : tuple<tensor<4xf32>, tensor<4xf32>>
    }
    """
    error = refused(written(tmp_path / "m.mlir", text))
    assert (
        error.code == "bad-main" and error.help == "return the fields of a tuple, each as a result of its own"
    )
