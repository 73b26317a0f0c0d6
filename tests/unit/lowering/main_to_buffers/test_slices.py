"""Slices whose bounds are data: elements of the tensor, and an error where the bounds are outside of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import StepwellError

WINDOW = """
func.func @main(%x: tensor<8x4xf32>, %at: tensor<i64>) -> tensor<2x4xf32> {
  %p, %m = graph.bind_sizes %at signed names ["p", "m"] : tensor<i64> -> index, index
  %e = graph.exp %x : tensor<8x4xf32> -> tensor<8x4xf32>
  %y = graph.slice %e starts <["p - m", 0]> limits <[LIMIT, 4]> steps [STEP, 1]
    : tensor<8x4xf32> -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
"""
X = np.arange(32, dtype=np.float32).reshape(8, 4) / 8


def window(folder: Path, limit: str, step: int, executor: Any) -> Any:
    """A model that takes two rows, of which a number says the first."""
    (folder / "m.mlir").write_text(WINDOW.replace("LIMIT", f'"{limit}"').replace("STEP", str(step)))
    return stepwell.compile(folder / "m.mlir", threads=1, executor=executor)


@pytest.mark.parametrize("executor", ["native", "vm", "interpreter"])
def test_two_rows(tmp_path: Path, executor: Any):
    model = window(tmp_path, "p - m + 2", 1, executor)
    for at in range(7):
        np.testing.assert_allclose(model(X, np.array(at)), np.exp(X[at : at + 2]), rtol=1e-6)
    for at in (-1, 7, 1 << 40):
        with pytest.raises(StepwellError, match="not lie within its tensor") as caught:
            model(X, np.array(at))
        assert caught.value.code == "index-out-of-range"


@pytest.mark.parametrize("executor", ["native", "vm", "interpreter"])
def test_two_rows_backwards(tmp_path: Path, executor: Any):
    model = window(tmp_path, "p - m - 2", -1, executor)
    for at in range(1, 8):
        np.testing.assert_allclose(model(X, np.array(at)), np.exp(X[[at, at - 1]]), rtol=1e-6)
    for at in (-1, 0, 8):
        with pytest.raises(StepwellError, match="not lie within its tensor"):
            model(X, np.array(at))
