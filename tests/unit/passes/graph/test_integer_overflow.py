"""Sums of bytes that exceed 32 bits: quantized results follow from the exact sums, `*Integer` sums wrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell

Numbers = npt.NDArray[Any]
DEPTH = 70_000
SCALE = np.float32(1.0)
Y_SCALE = np.float32(2**24)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, npt.ArrayLike],
    domain: str = "",
    **shapes: Sequence[Any],
) -> onnx.ModelProto:
    """A model of u8 inputs with these shapes, whose result is `y`."""
    infos = [helper.make_tensor_value_info(name, TensorProto.UINT8, dims) for name, dims in shapes.items()]
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    made = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name="y")], held)
    opsets = [helper.make_opsetid("", 21)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def quantized(sums: Numbers, zero_point: int = 128) -> Numbers:
    """Sums of 64 bits in units of `Y_SCALE`, as u8."""
    assert np.abs(sums).max() >= 2**31, "the test sums nothing large"
    steps = np.rint(sums.astype(np.float32) * (SCALE * SCALE / Y_SCALE))
    return np.clip(steps + zero_point, 0, 255).astype(np.uint8)


def long_rows(greatest: int) -> Numbers:
    """Two rows of u8 that are almost as large as they can be."""
    rng = np.random.default_rng(5)
    return rng.integers(greatest - 8, greatest + 1, (2, DEPTH)).astype(np.uint8)


def weights() -> Numbers:
    """Three columns: almost the greatest bytes, almost the least ones, and both by turns."""
    rng = np.random.default_rng(6)
    w = rng.integers(120, 128, (DEPTH, 3)).astype(np.int8)
    w[:, 1] *= -1
    w[::2, 2] *= -1
    return w


CONSTANTS: Mapping[str, npt.ArrayLike] = {
    "s": np.asarray(SCALE),
    "t": np.asarray(Y_SCALE),
    "z": np.uint8(0),
    "v": np.int8(0),
    "p": np.uint8(128),
}
"""Scales and zero points of all these models."""


def run(model: onnx.ModelProto, **feeds: Numbers) -> Numbers:
    return np.asarray(stepwell.compile(model).run(feeds)["y"])


def test_dequantized_operands() -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["w", "s", "v"], ["b"]),
        helper.make_node("MatMul", ["a", "b"], ["y"]),
    ]
    x, w = long_rows(255), weights()
    found = run(model_of(nodes, {**CONSTANTS, "w": w}, x=[2, DEPTH]), x=x)
    np.testing.assert_allclose(found, x.astype(np.int64) @ w.astype(np.int64), rtol=1e-3, atol=DEPTH)


@pytest.mark.sample(3)
@pytest.mark.parametrize("known", [DEPTH, "K"])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_qlinear_matmul(known: int | str, columns: tuple[int, ...]) -> None:
    """Of two arguments, their common extent known or open; one scale, or one for each column."""
    node = helper.make_node("QLinearMatMul", ["x", "s", "z", "w", "c", "p", "t", "p"], ["y"])
    x = long_rows(255)
    w = np.where(weights() > 0, 255, 0).astype(np.uint8)
    constants = {**CONSTANTS, "c": np.full(columns, SCALE)}
    found = run(model_of([node], constants, x=[2, known], w=[known, 3]), x=x, w=w)
    np.testing.assert_array_equal(found, quantized(x.astype(np.int64) @ (w.astype(np.int64) - 128)))


def test_qlinear_matmul_of_vectors_and_row_scales() -> None:
    x, w = long_rows(255), weights()
    node = helper.make_node("QLinearMatMul", ["x", "s", "z", "w", "s", "v", "t", "p"], ["y"])
    found = run(model_of([node], {**CONSTANTS, "w": w[:, 0]}, x=[DEPTH]), x=x[0])
    np.testing.assert_array_equal(found, quantized(x[0].astype(np.int64) @ w[:, 0].astype(np.int64)))
    node = helper.make_node("QLinearMatMul", ["x", "r", "q", "w", "s", "v", "t", "p"], ["y"])
    rows = {"r": np.array([1, 0.5], np.float32), "q": np.array([0, 20], np.uint8)}
    found = run(model_of([node], {**CONSTANTS, **rows, "w": w}, x=[2, DEPTH]), x=x)
    sums = (x.astype(np.int64) - rows["q"][:, None]) @ w.astype(np.int64)
    halves = np.stack([sums[0], sums[1] // 2])
    np.testing.assert_array_equal(found, quantized(halves))


@pytest.mark.sample(3)
@pytest.mark.parametrize("by_filter", [False, True])
@pytest.mark.parametrize("zero", [0, 100])
def test_qlinear_conv(by_filter: bool, zero: int) -> None:
    """Channels times cells are the terms; padded cells hold the zero point."""
    rng = np.random.default_rng(7)
    channels = 15_000
    x = rng.integers(247, 256, (1, channels, 3, 3)).astype(np.uint8)
    w = rng.integers(120, 128, (2, channels, 3, 3)).astype(np.int8)
    w[1] *= -1
    inputs = ["x", "s", "q", "w", "c" if by_filter else "s", "v", "t", "p"]
    node = helper.make_node("QLinearConv", inputs, ["y"], pads=[1, 1, 1, 1])
    constants = {**CONSTANTS, "w": w, "q": np.uint8(zero), "c": np.full(2, SCALE)}
    found = run(model_of([node], constants, x=x.shape), x=x)
    centred = np.pad(x.astype(np.int64) - zero, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(centred, (3, 3), (2, 3))
    sums = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64))
    np.testing.assert_array_equal(found, quantized(sums))


@pytest.mark.parametrize("is_constant", [False, True])
def test_qlinear_conv_whose_bias_exceeds(is_constant: bool) -> None:
    x, w = np.full((1, 4, 1, 1), 255, np.uint8), np.full((1, 4, 1, 1), 127, np.int8)
    bias = np.array([2**31 - 1], np.int32)
    node = helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "v", "t", "p", "b"], ["y"])
    constants = {**CONSTANTS, "w": w} | ({"b": bias} if is_constant else {})
    model = model_of([node], constants, x=x.shape)
    if not is_constant:
        model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.INT32, [1]))
    found = run(model, x=x, **({} if is_constant else {"b": bias}))
    np.testing.assert_array_equal(found.ravel(), quantized(np.array([255 * 127 * 4 + int(bias[0])])))


def test_products_of_bytes_as_floats() -> None:
    x, w = long_rows(255), weights()
    constants = {**CONSTANTS, "w": w}
    node = helper.make_node("MatMulIntegerToFloat", ["x", "w", "s", "s"], ["y"], domain="com.microsoft")
    found = run(model_of([node], constants, "com.microsoft", x=[2, DEPTH]), x=x)
    np.testing.assert_array_equal(found, (x.astype(np.int64) @ w.astype(np.int64)).astype(np.float32))


@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
def test_integer_sums_wrap(mcpu: str) -> None:
    """As ONNX says of `MatMulInteger` and `ConvInteger`, with zero points too."""
    x, w = long_rows(255), weights()
    constants = {"w": w, "p": np.uint8(1), "v": np.int8(-128)}
    node = helper.make_node("MatMulInteger", ["x", "w", "p", "v"], ["y"])
    model = model_of([node], constants, x=[2, DEPTH])
    sums = (x.astype(np.int64) - 1) @ (w.astype(np.int64) + 128)
    found = stepwell.compile(model, mcpu=mcpu).run({"x": x})["y"]
    np.testing.assert_array_equal(found, sums.astype(np.int32))
    filters = {**constants, "w": np.ascontiguousarray(w.T)[..., None]}
    node = helper.make_node("ConvInteger", ["x", "w", "p", "v"], ["y"])
    model = model_of([node], filters, x=[2, DEPTH, 1])
    found = stepwell.compile(model, mcpu=mcpu).run({"x": x[..., None]})["y"]
    np.testing.assert_array_equal(found[..., 0], sums.astype(np.int32))
