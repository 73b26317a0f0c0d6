"""Products of bf16 by pairs, in machine code and in whole models."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell
from tests.support.native_code import RUNNABLE, Native, kernel

_BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(7)


def _sums(lanes: int) -> str:
    words, floats = f"vector<{lanes}xi32>", f"vector<{lanes}xf32>"
    return kernel(
        "N",
        {"a": "i32[N]", "b": "i32[N]", "out": "f32[N]"},
        f"""
  %step = arith.constant {lanes} : index
  scf.for %i = %c0 to %N step %step {{
    %x = vector.load %a[%i] : memref<?xi32>, {words}
    %y = vector.load %b[%i] : memref<?xi32>, {words}
    %s = vector.load %out[%i] : memref<?xf32>, {floats}
    %r = arith.dot_bfloats %x, %y, %s : {words}, {floats}
    vector.store %r, %out[%i] : memref<?xf32>, {floats}
  }}""",
    )


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("lanes", [4, 16])
def test_two_products_are_added(lanes: int, mcpu: str) -> None:
    """Upper halves first; NaN and infinities as in f32, the first words have them."""
    a, b = (RNG.standard_normal((2, 64)).T.astype(_BF16) for _ in range(2))
    a[:5, 0] = [np.inf, -np.inf, np.nan, np.inf, 3e38]
    b[:5, 0] = [2, 2, 1, 0, 3e38]
    sums = RNG.standard_normal(64).astype(np.float32)
    words = [np.ascontiguousarray(x).view(np.int32).reshape(-1) for x in (a, b)]
    found = sums.copy()
    assert Native(_sums(lanes), mcpu)("k", [*words, found], [64]) == 0
    wide = [x.astype(np.float32) for x in (a, b)]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = (sums + wide[0][:, 1] * wide[1][:, 1]) + wide[0][:, 0] * wide[1][:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def _product(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic], *, constant: bool) -> list[np.ndarray]:
    """`a @ b` of bf16 as the compiled model gives it on one and two threads."""
    value = helper.make_tensor_value_info
    inputs = [
        value("a", TensorProto.BFLOAT16, list(a.shape)),
        value("b", TensorProto.BFLOAT16, list(b.shape)),
    ]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])],
        "g",
        inputs[:1] if constant else inputs,
        [value("y", TensorProto.BFLOAT16, [a.shape[0], b.shape[1]])],
        [numpy_helper.from_array(b, "b")] if constant else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    feeds = (a,) if constant else (a, b)
    found = [stepwell.compile(model, threads=threads)(*feeds) for threads in (1, 2)]
    return [np.asarray(y).astype(np.float64) for y in found]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("m", "n", "k", "constant"),
    [(64, 64, 96, True), (37, 83, 50, False), (40, 48, 33, True), (33, 32, 2, False)],
)
def test_products_of_matrices(m: int, n: int, k: int, constant: bool) -> None:
    """An infinity and a NaN stay in their rows; everything else is right to the rounding of the result."""
    a, b = (RNG.standard_normal(shape).astype(_BF16) for shape in ((m, k), (k, n)))
    a[3, 1], a[4, 0] = np.inf, np.nan
    b[1] = np.abs(b[1].astype(np.float32)) + 1
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    rest = np.delete(np.arange(m), [3, 4])
    for y in _product(a, b, constant=constant):
        assert np.all(y[3] == np.inf) and np.all(np.isnan(y[4]))
        assert np.all(np.abs(y[rest] - exact[rest]) <= 2**-8 * np.abs(exact[rest]) + 1e-6 * size[rest])


def _rounded(lanes: int) -> str:
    return kernel(
        "N",
        {"a": "f32[N]", "out": "i32[N]"},
        f"""
  %step = arith.constant {lanes} : index
  %two = arith.constant 2 : index
  scf.for %i = %c0 to %N step %step {{
    %x = vector.load %a[%i] : memref<?xf32>, vector<{lanes}xf32>
    %r = arith.pack_bfloats %x : vector<{lanes}xf32> -> vector<{lanes // 2}xi32>
    %j = arith.divui %i, %two : index
    vector.store %r, %out[%j] : memref<?xi32>, vector<{lanes // 2}xi32>
  }}""",
    )


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_are_rounded_and_packed(lanes: int, mcpu: str) -> None:
    """To nearest even, infinities and NaN too; the first of two neighbours is the lower half."""
    a = RNG.standard_normal(64).astype(np.float32)
    a[:8] = [np.inf, -np.inf, np.nan, 3.4e38, 1.00390625, 1.01171875, -0.0, 65535.0]
    found = np.zeros(64, np.int32)
    assert Native(_rounded(lanes), mcpu)("k", [a, found], [64]) == 0
    numbers = found[:32].view(_BF16).astype(np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(numbers, a.astype(_BF16).astype(np.float32))


def _paired(lanes: int) -> str:
    return kernel(
        "N",
        {"a": "f32[N]", "b": "f32[N]", "out": "i32[N]"},
        f"""
  %step = arith.constant {lanes} : index
  scf.for %i = %c0 to %N step %step {{
    %x = vector.load %a[%i] : memref<?xf32>, vector<{lanes}xf32>
    %y = vector.load %b[%i] : memref<?xf32>, vector<{lanes}xf32>
    %r = arith.pair_bfloats %x, %y : vector<{lanes}xf32> -> vector<{lanes}xi32>
    vector.store %r, %out[%i] : memref<?xi32>, vector<{lanes}xi32>
  }}""",
    )


@pytest.mark.parametrize("mcpu", RUNNABLE)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_two_numbers_are_a_pair(lanes: int, mcpu: str) -> None:
    """The first vector has the lower halves of the lanes."""
    a, b = RNG.standard_normal((2, 64)).astype(np.float32)
    a[:4], b[:4] = [np.inf, np.nan, 1.00390625, -0.0], [1, -np.inf, 3.4e38, np.nan]
    found = np.zeros(64, np.int32)
    assert Native(_paired(lanes), mcpu)("k", [a, b, found], [64]) == 0
    numbers = found.view(_BF16).astype(np.float32).reshape(64, 2)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(numbers, np.stack([a, b], 1).astype(_BF16).astype(np.float32))
