"""The table of planted faults and models: `validate` and `bisect` name each fault that changes a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from benchmarks.zoo import REPOSITORY, model_path
from tests.onnx_models import onnx_model
from tests.support.faults import FAULTS, planted
from tests.support.forks import found_in

pytestmark = pytest.mark.slow
ATTENTION = """net (float[2, 12, 16] x, float[16, 16] q, float[16, 16] k) => (float[2, 12, 16] y) {
  a = MatMul(x, q)
  b = MatMul(x, k)
  t = Transpose <perm = [0, 2, 1]> (b)
  s = MatMul(a, t)
  p = Softmax <axis = -1> (s)
  c = MatMul(p, x)
  d = Sub(x, c)
  m = ReduceMean <axes = [-1], keepdims = 1> (d)
  y = Sub(d, m)
}"""
MODELS = ("digits", "gru_seq", "silero_seq", "greedy_loop", "attention")


def file_of(name: str, folder: Path) -> Path:
    """The file of a model; skips the test where it is not here."""
    if name == "attention":
        onnx.save(onnx_model(ATTENTION, opset=17), folder / "attention.onnx")
        return folder / "attention.onnx"
    path = REPOSITORY / "examples" / "digits.onnx" if name == "digits" else model_path(name)
    if path is None:
        pytest.skip(f"{name} is not here: STEPWELL_MODELS names its folder")
    return path


def outputs(folder: Path, model: Path, *words: str) -> list[np.ndarray[Any, Any]]:
    """The outputs of a compiled model."""
    found_in(folder, "run", str(model), "--outputs", "y.npz", *words)
    with np.load(folder / "y.npz") as arrays:
        return [arrays[name] for name in arrays]


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("model", MODELS)
def test_a_fault_is_found_and_named(model: str, name: str, tmp_path: Path) -> None:
    path, fault = file_of(model, tmp_path), FAULTS[name]
    load = ("--load", planted(name, tmp_path).name)
    right, wrong = outputs(tmp_path, path), outputs(tmp_path, path, *load)
    if all(np.allclose(a, b, 1e-3, 1e-3, equal_nan=True) for a, b in zip(right, wrong, strict=True)):
        pytest.skip("the fault changes no result of this model")
    status, validated = found_in(tmp_path, "validate", str(path), *load)
    assert status == 1
    wrong_rows = [row for row in validated["runs"] if row["status"] == "differs"]
    differing = {(row["level"], row["pass"].partition("{")[0]) for row in wrong_rows}
    assert (fault.level, "machine" if fault.level == "llvm" else name) in differing
    status, found = found_in(tmp_path, "bisect", str(path), *load)
    assert (status, found["pass"].partition("{")[0], found["level"]) == (1, name, fault.level)
    assert (found["kernel"] is None) == (fault.level == "graph")
    if fault.by_pattern:
        assert found["rewrite"]["rule"] == "SwapOperands"
