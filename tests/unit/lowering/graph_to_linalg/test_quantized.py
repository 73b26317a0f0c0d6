"""Quantization at each level: rounding, saturation and zero points by hand, and integers that stay exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import Float8E4M3FNType, IntegerType, Signedness, f16
from xdsl.ir import Attribute

import stepwell
from stepwell.dialects import graph
from stepwell.dialects.types import element_of
from stepwell.runtime.meaning import Array
from tests.graph_ops import run, value
from tests.kernels import expect_lowering
from tests.support.combinations import every_pair

RNG = np.random.default_rng(11)
U8 = IntegerType(8, Signedness.UNSIGNED)
I8 = IntegerType(8)


def array(numbers: Sequence[float] | float, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Numbers of a type."""
    return np.array(numbers).astype(dtype)


def bytes_of(dtype: npt.DTypeLike, *shape: int) -> npt.NDArray[Any]:
    """Bytes of the whole range, the extremes among them."""
    name = np.dtype(dtype).name
    limits = np.iinfo(name)
    numbers = RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)
    if numbers.size > 1:
        numbers.flat[0], numbers.flat[-1] = limits.min, limits.max
    return numbers


QUANTIZED: list[tuple[Sequence[float], float, float | None, str, Sequence[float]]] = [
    # Ties go to even, also below zero and beside an odd zero point.
    ([0.5, 1.5, 2.5, -0.5, -1.5], 1, None, "int8", [0, 2, 2, 0, -2]),
    ([0.5, 1.5, 2.5, -0.5, -1.5], 1, 3, "uint8", [3, 5, 5, 3, 1]),
    ([1, 3, 5], 2, -1, "int8", [-1, 1, 1]),
    ([2.5, 3.5, -0.5], 1, None, "uint8", [2, 4, 0]),
    # Beyond the range, before or after the zero point.
    ([126.5, 127.5, -128.5, -129, 1e30, -1e30], 1, None, "int8", [126, 127, -128, -128, 127, -128]),
    ([200, 300, -1, -60, np.inf, -np.inf], 1, 50, "uint8", [250, 255, 49, 0, 255, 0]),
    ([-200, 100], 1, -100, "int8", [-128, 0]),
    ([65535.4, 65536, -1, 0.5], 1, None, "uint16", [65535, 65535, 0, 0]),
    ([32767.5, -40000, 100], 1, -32768, "int16", [0, -32768, -32668]),
    ([7.5, 8, -8.5, -9, 0.5], 1, None, "int4", [7, 7, -8, -8, 0]),
    ([15.5, 16, -1], 1, 1, "uint4", [15, 15, 0]),
    ([1, 2, -2, -3], 1, None, "int2", [1, 1, -2, -2]),
    ([3, 4, -1, 1.5], 1, None, "uint2", [3, 3, 0, 2]),
]


def dtype_named(name: str) -> np.dtype[Any]:
    """A dtype of numpy's or of ml_dtypes'."""
    return np.dtype(getattr(ml_dtypes, name)) if name[-1] in "24" else np.dtype(name)


@pytest.mark.parametrize(("x", "scale", "point", "to", "expected"), QUANTIZED)
def test_quantize(
    x: Sequence[float], scale: float, point: float | None, to: str, expected: Sequence[float]
) -> None:
    dtype = dtype_named(to)
    arrays = [array(x), array(scale)] + ([] if point is None else [array(point, dtype)])

    def build(*operands: Any) -> graph.QuantizeOp:
        return graph.QuantizeOp(*operands, to=element_of(dtype))

    (y,) = run(build(*map(value, arrays)), *arrays)
    np.testing.assert_array_equal(y.astype(np.int32), expected)
    expect_lowering(build, arrays)


def test_quantize_divides_and_does_not_multiply_by_a_reciprocal() -> None:
    # 2.7 / 0.6 rounds to 4.5, a tie; 2.7 * (1 / 0.6) to less.
    x, scale = np.full(64, 2.7, np.float32), np.float32(0.6)
    assert np.rint(x[0] / scale) == 4
    x = np.linspace(-70, 70, 4096, dtype=np.float32)
    model = one_node("QuantizeLinear", [x, np.array(0.6, np.float32), np.array(0, np.int8)], {0: x.shape}, 19)
    found = stepwell.compile(model).run({"x0": x})["y"]
    np.testing.assert_array_equal(found, np.clip(np.rint(x / scale), -128, 127).astype(np.int8))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scales_of_an_axis_and_of_blocks(axis: int) -> None:
    x = RNG.uniform(-40, 40, (3, 5, 6)).astype(np.float32)
    scale = RNG.uniform(0.1, 0.5, x.shape[axis]).astype(np.float32)
    point = bytes_of(np.uint8, x.shape[axis])
    expect_lowering(lambda a, s, z: graph.QuantizeOp(a, s, z, to=U8, axis=axis), [x, scale, point])
    q = bytes_of(np.uint8, *x.shape)
    expect_lowering(lambda a, s, z: graph.DequantizeOp(a, s, z, axis=axis), [q, scale, point])
    sums = RNG.integers(-9999, 9999, x.shape).astype(np.int32)
    expect_lowering(lambda a, s, z: graph.RequantizeOp(a, s, z, to=U8, axis=axis), [sums, scale, point])
    shape = [-(-n // 2) if i == axis else n for i, n in enumerate(x.shape)]  # the last block may be short
    blocks = RNG.uniform(0.1, 0.5, shape).astype(np.float32)
    expect_lowering(lambda a, s: graph.QuantizeOp(a, s, to=I8, axis=axis, block=2), [x, blocks])
    expect_lowering(lambda a, s: graph.DequantizeOp(a, s, axis=axis, block=2), [q, blocks])


def test_narrow_types() -> None:
    x = array([0.3, 500, -0.0, 7, -3, 1e-9])
    for saturate in (True, False):
        expect_lowering(
            lambda a, s, keep=saturate: graph.QuantizeOp(a, s, to=Float8E4M3FNType(), saturate=keep),
            [x, array(0.5)],
        )
    half: Attribute = f16
    expect_lowering(lambda a, s: graph.QuantizeOp(a, s, to=U8, compute_type=half), [x, array(0.3)])
    f8 = array([0.5, -448, 2], ml_dtypes.float8_e4m3fn)
    expect_lowering(lambda a, s: graph.DequantizeOp(a, s, to=half), [f8, array(3.0)])
    i4 = array([-8, 7, 0, -1], ml_dtypes.int4)
    expect_lowering(lambda a, s, z: graph.DequantizeOp(a, s, z), [i4, array(3.0), array(-8, ml_dtypes.int4)])


CONVS: list[tuple[tuple[int, ...], tuple[int, ...], Mapping[str, Any]]] = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((1, 4, 6, 5), (6, 4, 3, 2), {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ((1, 4, 6, 5), (6, 2, 3, 3), {"groups": 2, "dilations": [2, 1], "pads": [2, 1, 2, 1]}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "options"), CONVS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_conv_integer(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], options: Mapping[str, Any], dtype: npt.DTypeLike
) -> None:
    x, w = bytes_of(dtype, *x_shape), bytes_of(np.int8, *w_shape)
    arrays = [x, w, array(7, dtype), bytes_of(np.int8, w_shape[0])]
    expect_lowering(lambda *a: graph.ConvIntegerOp(*a, **options), arrays)
    (y,) = run(graph.ConvIntegerOp(*map(value, arrays), **options), *arrays)
    plain = dict(options)
    groups = plain.pop("groups", 1)
    attributes = {"group": groups, **plain}
    wide = (
        x.astype(np.int64) - 7,
        w.astype(np.int64) - arrays[3].astype(np.int64).reshape(-1, *[1] * (w.ndim - 1)),
    )
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    infos = [
        helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, a.shape)
        for n, a in zip("xw", wide, strict=True)
    ]
    out = [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)]
    model = helper.make_model(
        helper.make_graph([node], "g", infos, out), opset_imports=[helper.make_opsetid("", 19)], ir_version=9
    )
    reference: Any = ReferenceEvaluator(model)
    (expected,) = reference.run(None, {"x": wide[0].astype(np.float64), "w": wide[1].astype(np.float64)})
    np.testing.assert_array_equal(y, expected.astype(np.int32))


def test_words() -> None:
    a, b = bytes_of(np.uint8, 3, 8), bytes_of(np.int8, 2, 2, 4, 4)
    words = b.view("<i4")[..., 0]
    operands = [a.view("<i4"), words]
    (y,) = run(graph.MatmulIntegerOp(*map(value, operands)), *operands)
    columns = b.transpose(1, 3, 0, 2).reshape(8, 8)
    np.testing.assert_array_equal(y, a.astype(np.int32) @ columns.astype(np.int32))
    expect_lowering(graph.MatmulIntegerOp, operands)
    c, d = bytes_of(np.int16, 3, 8), bytes_of(np.int16, 2, 4, 4, 2)
    expect_lowering(lambda p, q: graph.MatmulIntegerOp(p, q, parts=2), [c.view("<i4"), d.view("<i4")[..., 0]])
    (w,) = run(graph.WordsOp(value(a)), a)
    np.testing.assert_array_equal(w, operands[0])
    x = bytes_of(np.uint8, 1, 4, 5, 8).view("<i4")
    filters = bytes_of(np.int8, 2, 3, 3, 2, 4, 4).view("<i4")[..., 0]
    options: Mapping[str, Any] = {"data_layout": "NHWC", "kernel_layout": "OHWI4o", "pads": [1, 1, 1, 1]}
    expect_lowering(lambda p, q: graph.ConvIntegerOp(p, q, border=200, **options), [x, filters])
    x, filters = bytes_of(np.uint8, 1, 4, 5, 8), bytes_of(np.int8, 1, 3, 3, 8)
    depthwise: Mapping[str, Any] = {**options, "kernel_layout": "IHWO", "groups": 8}
    expect_lowering(lambda p, q: graph.ConvIntegerOp(p, q, border=200, **depthwise), [x, filters])


def one_node(
    op_type: str,
    inputs: Sequence[Array],
    arguments: Mapping[int, Sequence[int | str]],
    opset: int = 21,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; inputs that are no arguments are constants."""
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op_type, names, ["y"], **attributes)
    infos = [
        helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(inputs[i].dtype), dims)
        for i, dims in arguments.items()
    ]
    constants = [
        numpy_helper.from_array(x, n)
        for i, (x, n) in enumerate(zip(inputs, names, strict=True))
        if i not in arguments
    ]
    made = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")], constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


PRODUCTS = [
    (np.uint8, np.int8, 0),
    (np.int8, np.int8, 0),
    (np.uint8, np.uint8, 128),
    (np.int8, np.uint8, 131),  # less this one, bytes are no signed bytes
    (np.uint8, np.int8, -100),
]
TARGETS = ["host", "x86-64-v3", "x86-64-v2"]


@pytest.mark.sample(6)
@every_pair(
    left__right__b_point=PRODUCTS,
    m__k__n=[(1, 3, 8), (5, 64, 32), (7, 37, 48), (3, 8, 5), (6, 9, 58)],
    mcpu=TARGETS,
)
def test_products_of_bytes_are_exact(
    left: npt.DTypeLike, right: npt.DTypeLike, b_point: int, m: int, k: int, n: int, mcpu: str
) -> None:
    a, b = bytes_of(left, m, k), bytes_of(right, k, n)
    a[:] = np.where(
        np.arange(k) % 3 == 0, 255 if left == np.uint8 else -128, a
    )  # a saturating shortcut fails
    points = array(200 if left == np.uint8 else -100, left), array(b_point, right)
    for known in ({0: a.shape}, {0: a.shape, 2: ()}):
        model = one_node("MatMulInteger", [a, b, *points], known, 19)
        compiled = stepwell.compile(model, mcpu=mcpu)
        feeds = {f"x{i}": x for i, x in enumerate([a, b, *points]) if i in known}
        expected = (a.astype(np.int32) - np.int32(points[0])) @ (b.astype(np.int32) - np.int32(points[1]))
        np.testing.assert_array_equal(compiled.run(feeds)["y"], expected)


@pytest.mark.sample(6)
@every_pair(
    channels=[1, 3, 8],  # one: a filter for each channel
    dtype__point=[(np.uint8, 255), (np.int8, -128), (np.int8, 5)],
    w_point=[0, 100],  # less 100, bytes are no signed bytes
    mcpu=["host", "x86-64-v3"],
)
def test_convolutions_of_bytes_are_exact(
    channels: int, dtype: npt.DTypeLike, point: int, w_point: int, mcpu: str
) -> None:
    groups = 24 if channels == 1 else 1
    x, w = bytes_of(dtype, 1, channels * groups, 9, 7), bytes_of(np.int8, 24, channels, 3, 3)
    scales = array(0.02), RNG.uniform(0.001, 0.01, 24).astype(np.float32), array(0.3)
    zero, none = array(point, dtype), np.full(24, w_point, np.int8)
    bias = RNG.integers(-5000, 5000, 24).astype(np.int32)
    inputs = [x, scales[0], zero, w, scales[1], none, scales[2], array(-3, np.int8), bias]
    options: Mapping[str, Any] = {"pads": [1, 1, 1, 1], "strides": [2, 1]}
    model = one_node("QLinearConv", inputs, {0: x.shape}, 19, group=groups, **options)
    compiled = stepwell.compile(model, mcpu=mcpu)
    op = graph.ConvIntegerOp(value(x), value(w), value(zero), value(none), groups=groups, **options)
    (sums,) = run(op, x, w, zero, none)
    sums = sums.astype(np.int32) + bias.reshape(-1, 1, 1)
    scale = scales[0] * scales[1] / scales[2]
    product = np.rint(sums.astype(np.float32) * scale.reshape(-1, 1, 1))
    expected = np.clip(product - 3, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(compiled.run({"x0": x})["y"], expected)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("groups", [1, 6])
def test_a_convolution_with_a_zero_point_that_is_known_at_run_time(dtype: npt.DTypeLike, groups: int) -> None:
    x, w = bytes_of(dtype, 1, 6, 9, 7), bytes_of(np.int8, 24, 6 // groups, 3, 3)
    w, zero = (w[:6] if groups > 1 else w), array(100, dtype)
    options: Mapping[str, Any] = {"pads": [1, 0, 2, 1], "strides": [2, 1]}
    model = one_node("ConvInteger", [x, w, zero], {0: x.shape, 2: ()}, 19, group=groups, **options)
    op = graph.ConvIntegerOp(value(x), value(w), value(zero), groups=groups, **options)
    (expected,) = run(op, x, w, zero, None)
    found = stepwell.compile(model).run({"x0": x, "x2": zero})["y"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.sample(6)
@pytest.mark.parametrize(("left", "right"), [(np.uint8, np.uint8), (np.int8, np.uint8)])
@pytest.mark.parametrize("k", [7, 258, 600])
def test_products_of_activations_are_exact(left: npt.DTypeLike, right: npt.DTypeLike, k: int) -> None:
    a, b = bytes_of(left, 2, 3, k), bytes_of(right, 2, k, 5)
    least, greatest = (0, 255) if left == np.uint8 else (-128, 127)
    a[:, 0], b[:, :, 0] = greatest, 255  # the greatest sum
    points = array(least, left), array(0, right)
    for known in ({0: a.shape, 1: b.shape}, {0: a.shape, 1: b.shape, 2: (), 3: ()}):
        model = one_node("MatMulInteger", [a, b, *points], known, 19)
        feeds = {f"x{i}": x for i, x in enumerate([a, b, *points]) if i in known}
        expected = (a.astype(np.int32) - np.int32(points[0])) @ b.astype(np.int32)
        np.testing.assert_array_equal(stepwell.compile(model).run(feeds)["y"], expected)


def test_requantize_rounds_half_to_even_is_no_float() -> None:
    x = RNG.integers(-9, 9, (2, 3)).astype(np.int32)
    (y,) = run(graph.RequantizeOp(value(x), value(array(0.5)), to=I8), x, array(0.5), None)
    np.testing.assert_array_equal(y, np.rint(x * 0.5).astype(np.int8))
    ties = np.array([5, 7, -5, -7], np.int32)
    (y,) = run(graph.RequantizeOp(value(ties), value(array(0.5)), to=I8), ties, array(0.5), None)
    assert y.tolist() == [2, 4, -2, -4]


@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
def test_sums_of_a_length_that_is_known_at_run_time(mcpu: str) -> None:
    a, b = bytes_of(np.uint8, 3, 8), bytes_of(np.int8, 8, 16)
    model = one_node("MatMulInteger", [a, b], {0: ("M", "K")}, 19)
    found = stepwell.compile(model, mcpu=mcpu).run({"x0": a})["y"]
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32))
    x, w = bytes_of(np.uint8, 1, 4, 5, 5), bytes_of(np.int8, 16, 4, 3, 3)
    model = one_node("ConvInteger", [x, w], {0: ("N", "C", "H", "W")}, 19)
    (expected,) = run(graph.ConvIntegerOp(value(x), value(w)), x, w, None, None)
    np.testing.assert_array_equal(stepwell.compile(model, mcpu=mcpu).run({"x0": x})["y"], expected)
