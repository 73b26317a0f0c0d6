"""Programs for the tests of the API."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.onnx_models import onnx_model

SMALL = "small (float[N, 8] x) => (float[N, 8] y) { s = Add(x, x) y = Relu(s) }"
X = np.array([[1, -2, 3, -4, 5, -6, 7, -8]], np.float32)
Y = np.maximum(X + X, 0)
TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""


def small_file(folder: Path) -> Path:
    """The file of a small model without weights, its batch open."""
    path = folder / "small.onnx"
    onnx.save(onnx_model(SMALL), path)
    return path


def weighted_file(folder: Path, name: str = "weighted.onnx") -> Path:
    """The file of a matrix product whose weights are large enough to stay in the mapped file."""
    path = folder / name
    model = onnx_model("g (float[N, 64] x) => (float[N, 64] y) { y = MatMul(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.eye(64, dtype=np.float32), "w"))
    onnx.save(model, path)
    return path
