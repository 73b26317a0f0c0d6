"""Exported libraries as modules of apache-tvm-ffi: `load_module("m.so").m(x, y)`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell

tvm_ffi: Any = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")

# The workspace has the sum; N is the size of several arrays, and y has an expression of it.
MODEL = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 70] x, int64[K] i, float[70, 3] w) => (float[K, 3] y, float[N, 140] z) {
  p = MatMul (x, w) s = Softmax (p) y = Gather (s, i) z = Concat <axis = 1> (x, x)
}
"""
RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((5, 70), np.float32), RNG.standard_normal((70, 3), np.float32)
I = np.array([4, 0, 2], np.int64)  # noqa: E741


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exported")
    stepwell.export(onnx.parser.parse_model(MODEL), place / "m.so")
    return place


def outputs() -> tuple[np.ndarray, np.ndarray]:
    return np.full((3, 3), np.nan, np.float32), np.full((5, 140), np.nan, np.float32)


def test_a_library_is_a_module(folder: Path) -> None:
    module, model = tvm_ffi.load_module(str(folder / "m.so")), stepwell.load(folder / "m.so")
    y, z = outputs()
    assert model.interface.arena_bytes != 0
    module.m(X, I, W, y, z)
    for found, wanted in zip((y, z), model(X, I, W), strict=True):
        np.testing.assert_array_equal(found, wanted)
    y[:] = 0
    module.m(*map(tvm_ffi.from_dlpack, (X, I, W, y, z)))  # objects of tensors, not pointers alone
    np.testing.assert_array_equal(y, model(X, I, W)[0])
    assert json.loads(str(module.m_info()))["name"] == "m"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({0: X.astype(np.float64)}, TypeError, r"input 'x' must be float32\[N, 70\] on the CPU"),
        ({0: 7}, TypeError, "input 'x' must be"),
        ({1: None}, TypeError, "input 'i' must be"),
        ({0: X[0]}, ValueError, r"found \[70\]"),
        ({0: X[:, :69].copy()}, ValueError, r"here \[5, 70\], found \[5, 69\]"),
        ({2: W.T.copy().T}, ValueError, "'w' .*contiguous"),
        ({3: np.zeros((5, 3), np.float32)}, ValueError, r"'y' .*here \[3, 3\], found \[5, 3\]"),
        ({4: np.zeros((5, 70), np.float32)}, ValueError, r"'z' .*here \[5, 140\], found \[5, 70\]"),
        ({1: np.array([4, 5, 2])}, IndexError, "index-out-of-range"),
        ({0: np.zeros(1401, np.uint8)[1:].view(np.float32).reshape(5, 70)}, ValueError, "aligned"),
    ],
)
def test_what_does_not_fit_is_an_exception_and_the_next_call_works(
    folder: Path, change: dict[int, object], error: type[Exception], message: str
) -> None:
    module, arguments = tvm_ffi.load_module(str(folder / "m.so")), [X, I, W, *outputs()]
    with pytest.raises(error, match=message):
        module.m(*[change.get(i, value) for i, value in enumerate(arguments)])
    with pytest.raises(TypeError, match="expected 3 inputs and 2 outputs"):
        module.m(X)
    module.m(*arguments)
    assert np.isfinite(arguments[3]).all()


def test_sizes_of_all_signs_and_empty_arrays(folder: Path) -> None:
    module = tvm_ffi.load_module(str(folder / "m.so"))
    y, z = np.empty((0, 3), np.float32), outputs()[1]
    module.m(X, I[:0], W, y, z)
    np.testing.assert_array_equal(z, np.concatenate([X, X], 1))


def test_functions_of_a_library(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[N] x) => (float[N] y) {{ y = {} (x) }}'
    parts = {op: stepwell.compile(onnx.parser.parse_model(text.format(op))) for op in ("Neg", "Exp")}
    stepwell.export(stepwell.Library({"neg": parts["Neg"], "exp": parts["Exp"]}), tmp_path / "f.so")
    module, x, y = tvm_ffi.load_module(str(tmp_path / "f.so")), X[0], np.empty(70, np.float32)
    for name, op in (("f_neg", "Neg"), ("f_exp", "Exp")):
        module[name](x, y)
        np.testing.assert_array_equal(y, np.asarray(parts[op](x)))


def test_a_process_without_the_package_loads_the_library(folder: Path) -> None:
    code = (
        f"import ctypes; m = ctypes.CDLL({str(folder / 'm.so')!r}); print(m.__tvm_ffi_m(None, None, 0, None))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "-1\n", done.stderr
