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
  y = Add(d, m)
}"""
ALL = ("digits", "gru_seq", "silero_seq", "greedy_loop", "attention")
SHOWN = {
    **dict.fromkeys(("simplify-expr", "fold-scale-axis", "fuse-ops"), ("greedy_loop", "attention")),
    # A recurrent layer is one op on level 2: its arithmetic is made by a later pass.
    "convert-graph-to-linalg": ("digits", "greedy_loop", "attention"),
    **dict.fromkeys(("vectorize", "bufferize"), ("digits", "gru_seq", "greedy_loop", "attention")),
    **dict.fromkeys(("expand-math", "convert-loops-to-llvm", "hoist-addresses"), ALL),
}
"""The models whose outputs each fault changes."""
INHERITED = {"attention": {("loop", "expand-math")}}
"""
What differs too, rightly: a softmax marks its exponentials `sched.not_positive`, a fault before makes their
operands positive, and for these the short form that `expand-math` has for marked ones is no exponential.
"""


def file_of(name: str, folder: Path) -> Path | None:
    """The file of a model; None where it is not here."""
    if name == "attention":
        onnx.save(onnx_model(ATTENTION, opset=17), folder / "attention.onnx")
        return folder / "attention.onnx"
    return REPOSITORY / "examples" / "digits.onnx" if name == "digits" else model_path(name)


def outputs(folder: Path, model: Path, *words: str) -> list[np.ndarray[Any, Any]]:
    """The outputs of a compiled model."""
    found_in(folder, "run", str(model), "--outputs", "y.npz", *words)
    with np.load(folder / "y.npz") as arrays:
        return [arrays[name] for name in arrays]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every fault changes at least two models that are in the repository or made here, or one on level 1."""
    load = ("--load", planted(name, tmp_path).name)
    changed: list[str] = []
    for model in ALL:
        if (path := file_of(model, tmp_path)) is None:
            continue
        pairs = zip(outputs(tmp_path, path), outputs(tmp_path, path, *load), strict=True)
        if not all(np.allclose(a, b, 1e-3, 1e-3, equal_nan=True) for a, b in pairs):
            changed.append(model)
            expect_found(name, model, path, tmp_path, load)
    expected = [model for model in SHOWN[name] if file_of(model, tmp_path) is not None]
    assert changed == expected
    assert len(expected) > (FAULTS[name].level != "graph")
    if missing := [model for model in SHOWN[name] if model not in expected]:
        with capsys.disabled():
            print(f"not here: {', '.join(missing)}; STEPWELL_MODELS names their folder")


def expect_found(name: str, model: str, path: Path, folder: Path, load: tuple[str, str]) -> None:
    """Require `validate` to show the pass at fault, and `bisect` to name it."""
    fault = FAULTS[name]
    status, validated = found_in(folder, "validate", str(path), *load)
    assert status == 1
    wrong_rows = [row for row in validated["runs"] if row["status"] in ("differs", "failed")]
    differing = {(row["level"], row["pass"].partition("{")[0]) for row in wrong_rows}
    guilty = (fault.level, "machine" if fault.level == "llvm" else name)
    assert guilty in differing
    assert differing <= {guilty, ("llvm", "machine")} | INHERITED.get(model, set())
    status, found = found_in(folder, "bisect", str(path), *load)
    assert (status, found["pass"].partition("{")[0], found["level"]) == (1, name, fault.level)
    assert (found["kernel"] is None) == (fault.level == "graph")
    if fault.by_pattern:
        assert found["rewrite"]["rule"] == "SwapOperands"
