"""Contractions and windows: numpy meanings against ONNX Runtime, type relations against the meanings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

from stepwell.dialects.graph.contraction import MatmulOp
from stepwell.dialects.graph.convolution import ConvOp, ConvTransposeOp
from stepwell.dialects.graph.window import PoolOp
from stepwell.dialects.types import dims_of, element_of, tensor_of
from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.meaning import Array
from tests.graph_ops import run, value
from tests.support.onnx_runtime import reference_session

RNG = np.random.default_rng(7)


def run_onnx(op_type: str, inputs: Sequence[Array], outputs: int = 1, **attributes: Any) -> list[Array]:
    """Run one ONNX node with ONNX Runtime."""
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=r) for r in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return reference_session(model).run(None, dict(zip(names, inputs, strict=True)))


def expect_close(actual: Any, expected: Any, rtol: float = 1e-5) -> None:
    """Compare with a tolerance for sums of a few dozen f32 terms."""
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    """Random numbers, neither symmetric nor centred."""
    return RNG.uniform(-1, 2, shape).astype(np.float32)


CONVS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((2, 4, 9, 8), (6, 4, 3, 2), {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ((1, 4, 9, 8), (6, 2, 3, 3), {"groups": 2, "dilations": [2, 1], "pads": [2, 1, 2, 1]}),
    ((1, 6, 7, 7), (12, 1, 3, 3), {"groups": 6, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((2, 2, 5, 6, 4), (3, 2, 2, 3, 1), {"strides": [1, 2, 3], "pads": [0, 1, 0, 1, 1, 0]}),
    ((1, 5, 4, 4), (7, 5, 1, 1), {"strides": [2, 2]}),
    ((0, 5, 4, 4), (7, 5, 1, 1), {}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), CONVS)
def test_conv(x_shape: tuple[int, ...], w_shape: tuple[int, ...], options: Mapping[str, Any]) -> None:
    x, w = floats(*x_shape), floats(*w_shape)
    (y,) = run(ConvOp(value(x), value(w), **options), x, w)
    attributes = dict(options)
    if (groups := attributes.pop("groups", None)) is not None:
        attributes["group"] = groups
    (expected,) = run_onnx("Conv", [x, w], **attributes)
    expect_close(y, expected)


@pytest.mark.parametrize(
    ("data", "kernel", "out"),
    [("NHWC", "HWIO", "NHWC"), ("NCHW4c", "OIHW4i8o", "NCHW8c"), ("NCHW", "OIHW8o", "NCHW8c")],
)
def test_conv_in_other_layouts_is_the_same_conv(data: str, kernel: str, out: str) -> None:
    x, w = floats(2, 8, 6, 5), floats(16, 8, 3, 3)
    nchw, oihw = parse_layout("NCHW"), parse_layout("OIHW")
    (expected,) = run(ConvOp(value(x), value(w), pads=[1, 1, 1, 1]), x, w)
    x = to_layout(x, nchw, parse_layout(data))
    w = to_layout(w, oihw, parse_layout(kernel))
    op = ConvOp(value(x), value(w), pads=[1, 1, 1, 1], data_layout=data, kernel_layout=kernel, out_layout=out)
    (y,) = run(op, x, w)
    expect_close(to_layout(y, parse_layout(out), nchw), expected)


def test_conv_keeps_symbols() -> None:
    x, w = np.zeros((2, 3, 8, 8), np.float32), np.zeros((4, 3, 3, 3), np.float32)
    op = ConvOp(value(x, ["N", 3, "H", "H + 2"]), value(w), pads=[1, 1, 1, 1])
    assert [str(d) for d in dims_of(op.result.type)] == ["N", "4", "H", "H + 2"]


def test_conv_sums_half_floats_in_f32() -> None:
    x, w = np.full((1, 4096, 1, 1), 0.1, np.float16), np.ones((1, 4096, 1, 1), np.float16)
    (y,) = run(ConvOp(value(x), value(w)), x, w)
    assert y.item() == np.float16(np.float32(np.float16(0.1)) * 4096)


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5), (3, 4, 3), {}),
    ((1, 4, 5, 6), (4, 3, 3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]}),
    ((1, 4, 5, 6), (4, 3, 3, 2), {"strides": [2, 1], "dilations": [2, 3], "groups": 2, "pads": [1, 1, 1, 1]}),
    ((1, 2, 3, 4, 2), (2, 2, 2, 2, 2), {"strides": [2, 2, 2]}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), TRANSPOSED)
def test_conv_transpose(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], options: Mapping[str, Any]
) -> None:
    x, w = floats(*x_shape), floats(*w_shape)
    (y,) = run(ConvTransposeOp(value(x), value(w), **options), x, w)
    attributes = dict(options)
    attributes["group"] = attributes.pop("groups", 1)
    (expected,) = run_onnx("ConvTranspose", [x, w], **attributes)
    expect_close(y, expected)


def test_conv_transpose_negative_pads_add_zeros() -> None:
    x, w = floats(1, 1, 3), floats(1, 1, 2)
    (y,) = run(ConvTransposeOp(value(x), value(w)), x, w)
    (wide,) = run(ConvTransposeOp(value(x), value(w), pads=[-1, -2]), x, w)
    np.testing.assert_array_equal(wide, np.pad(y, [(0, 0), (0, 0), (1, 2)]))


MATMULS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((6, 3, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((2, 3, 4), (4,)),
]


@pytest.mark.parametrize(("a_shape", "b_shape"), MATMULS)
def test_matmul(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = floats(*a_shape), floats(*b_shape)
    (y,) = run(MatmulOp(value(a), value(b)), a, b)
    expect_close(y, np.matmul(a, b), rtol=1e-6)


def test_matmul_transposes_and_panels() -> None:
    a, b = floats(2, 3, 4), floats(4, 6)
    (expected,) = run(MatmulOp(value(a), value(b)), a, b)
    at, bt = np.ascontiguousarray(a.swapaxes(1, 2)), np.ascontiguousarray(b.T)
    (y,) = run(MatmulOp(value(at), value(bt), transpose_a=True, transpose_b=True), at, bt)
    expect_close(y, expected, rtol=1e-6)
    panels = np.ascontiguousarray(b.reshape(4, 3, 2).transpose(1, 0, 2))
    (y,) = run(MatmulOp(value(a), value(panels), packing=2), a, panels)
    expect_close(y, expected, rtol=1e-6)


def test_matmul_integers_wrap() -> None:
    a = np.full((1, 2), 100, np.int8)
    (y,) = run(MatmulOp(value(a), value(a.T)), a, a.T)
    assert y.item() == np.int64(20000).astype(np.int8)


def test_matmul_type_relation_keeps_symbols_and_gives_up_on_two() -> None:
    a, b = np.zeros((2, 3, 4), np.float32), np.zeros((2, 4, 5), np.float32)
    op = MatmulOp(value(a, ["N", "S", 4]), value(b, ["N", 4, 5]))
    assert [str(d) for d in dims_of(op.result.type)] == ["N", "S", "5"]
    op = MatmulOp(value(a, ["N", 3, 4]), value(b, ["M", 4, 5]))
    assert dims_of(op.result.type)[0].is_unknown


POOLS: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("MaxPool", (2, 3, 9), {"kernel": [3], "strides": [2]}),
    ("MaxPool", (1, 2, 7, 8), {"kernel": [3, 2], "strides": [2, 3], "pads": [1, 1, 1, 0], "ceil": True}),
    ("MaxPool", (1, 2, 9, 8), {"kernel": [2, 3], "dilations": [3, 2], "pads": [0, 1, 1, 1]}),
    ("MaxPool", (1, 2, 4, 5, 6), {"kernel": [2, 3, 2], "strides": [2, 1, 1], "pads": [0, 1, 0, 1, 1, 1]}),
    ("AveragePool", (2, 3, 9), {"kernel": [3], "strides": [2], "pads": [1, 1]}),
    ("AveragePool", (1, 2, 7, 8), {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil": True}),
    ("AveragePool", (1, 2, 7, 8), {"kernel": [3, 3], "pads": [1, 0, 2, 1], "count_include_pad": True}),
    ("LpPool", (1, 2, 7, 8), {"kernel": [3, 3], "strides": [2, 2], "p": 3}),
]


@pytest.mark.parametrize(("op_type", "shape", "options"), POOLS)
def test_pool(op_type: str, shape: tuple[int, ...], options: Mapping[str, Any]) -> None:
    x = floats(*shape)
    kind = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[op_type]
    arguments = dict(options)
    kernel = arguments.pop("kernel")
    (y,) = run(PoolOp(value(x), kind, kernel, **arguments), x)
    if (ceil := arguments.pop("ceil", None)) is not None:
        arguments["ceil_mode"] = int(ceil)
    if arguments.pop("count_include_pad", False):
        arguments["count_include_pad"] = 1
    (expected,) = run_onnx(op_type, [x], kernel_shape=kernel, **arguments)
    expect_close(y, expected)


@pytest.mark.parametrize("order", ["row", "column"])
def test_pool_indices(order: str) -> None:
    x = floats(2, 3, 6, 5)
    y, where = run(PoolOp(value(x), "max", [2, 3], strides=[2, 1], pads=[1, 1, 0, 1], indices=order), x)
    expected, places = run_onnx(
        "MaxPool",
        [x],
        2,
        kernel_shape=[2, 3],
        strides=[2, 1],
        pads=[1, 1, 0, 1],
        storage_order=int(order == "column"),
    )
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(where, places)


def test_pool_max_never_chooses_padding_or_nan() -> None:
    x = np.array([[[-np.inf, np.nan, np.nan, np.nan, -5]]], np.float32)
    (y,) = run(PoolOp(value(x), "max", [3], pads=[1, 1]), x)
    np.testing.assert_array_equal(y, np.array([[[-np.inf, -np.inf, -np.inf, -5, -5]]], np.float32))


def test_pool_max_of_integers() -> None:
    x = np.array([[[-128, -7, -9]]], np.int8)
    (y,) = run(PoolOp(value(x), "max", [2], pads=[1, 1]), x)
    np.testing.assert_array_equal(y, np.array([[[-128, -7, -7, -9]]], np.int8))
    assert tensor_of(value(x)).element_type == element_of(np.int8)


def test_pool_in_blocked_layout() -> None:
    x = floats(2, 8, 6, 5)
    nchw, blocked = parse_layout("NCHW"), parse_layout("NCHW4c")
    (expected,) = run(PoolOp(value(x), "avg", [3, 2], pads=[1, 0, 1, 1]), x)
    b = to_layout(x, nchw, blocked)
    (y,) = run(PoolOp(value(b), "avg", [3, 2], pads=[1, 0, 1, 1], data_layout="NCHW4c"), b)
    expect_close(to_layout(y, blocked, nchw), expected, rtol=1e-6)
