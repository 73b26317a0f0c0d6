"""Quantized operators of ONNX Runtime's own domain, compiled, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

import stepwell
from stepwell.dialects import onnx as dialect
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.runtime.meaning import Array
from stepwell.tools.onnx_support import NATIVE, support_of
from tests.support.onnx_runtime import reference_session

RNG = np.random.default_rng(23)


def number(value: float, dtype: npt.DTypeLike = np.float32) -> Array:
    """A scalar."""
    return np.array(value).astype(dtype)


def bytes_of(dtype: npt.DTypeLike, *shape: int) -> Array:
    """Bytes of the whole range."""
    limits = np.iinfo(np.dtype(dtype).name)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


X = (bytes_of(np.uint8, 2, 6, 5, 4), number(0.05), number(131, np.uint8))
Z = (bytes_of(np.uint8, 2, 6, 5, 4), number(0.07), number(3, np.uint8))
OUT = (number(0.11), number(77, np.uint8))
A = (bytes_of(np.uint8, 5, 12), number(0.02), number(99, np.uint8))
B = (bytes_of(np.int8, 12, 8), RNG.uniform(0.01, 0.02, 8).astype(np.float32), np.zeros(8, np.int8))
BIAS = RNG.integers(-900, 900, 8).astype(np.int32)
FLOATS = RNG.uniform(-2, 3, (5, 12)).astype(np.float32)

POOL = {"kernel_shape": [2, 3], "pads": [1, 0, 0, 1], "strides": [1, 2]}
# Of half the range: without VNNI, ONNX Runtime is exact for these alone.
FILTERS = (np.floor_divide(bytes_of(np.int8, 3, 4, 3, 2), 2, dtype=np.int8), number(0.02), number(0, np.int8))
CHOICE = RNG.integers(0, 2, (2, 6, 5, 4)).astype(bool)
QKV = (bytes_of(np.uint8, 2, 5, 8), bytes_of(np.int8, 8, 24), FLOATS[0, :1].repeat(24))
QKV_SCALES, QKV_POINTS = (number(0.02), number(0.01)), (number(120, np.uint8), number(0, np.int8))
LENGTHS = np.array([2, 5], np.int32)

CASES: list[tuple[str, Sequence[Array | None], int, dict[str, Any], float]] = [
    # The operator, its inputs, how many of them vary, its attributes, the difference that is allowed.
    ("QLinearAdd", [*X, *Z, *OUT], 4, {}, 1),
    ("QLinearMul", [*X, *Z, *OUT], 4, {}, 1),
    ("QLinearSigmoid", [*X, number(1 / 256), number(0, np.uint8)], 1, {}, 1),
    ("QLinearLeakyRelu", [*X, *OUT], 1, {"alpha": 0.2}, 1),
    ("QLinearGlobalAveragePool", [*X, *OUT], 1, {"channels_last": 0}, 1),
    ("QLinearGlobalAveragePool", [*X, *OUT], 1, {"channels_last": 1}, 1),
    ("QLinearConcat", [*OUT, *X, *Z], 6, {"axis": 1}, 1),
    ("QGemm", [*A, *B, BIAS, *OUT], 1, {}, 1),
    ("QGemm", [*A, *B, BIAS, None, None], 1, {}, 1e-4),
    ("MatMulIntegerToFloat", [A[0], B[0], A[1], B[1], A[2], B[2], None], 1, {}, 1e-4),
    ("DynamicQuantizeMatMul", [FLOATS, B[0], B[1], B[2], FLOATS[0, :8]], 1, {}, 1e-4),
    ("QLinearWhere", [CHOICE, *X, *Z, *OUT], 2, {}, 1),
    ("QLinearAveragePool", [*X, *OUT], 1, {**POOL, "count_include_pad": 1}, 1),
    ("QLinearAveragePool", [*X, *OUT], 1, {**POOL, "channels_last": 1}, 1),
    ("QLinearConv", [*X, *FILTERS, *OUT], 1, {"channels_last": 1}, 1),
    ("QAttention", [*QKV, *QKV_SCALES, None, *QKV_POINTS], 1, {"num_heads": 2}, 1e-4),
    ("QAttention", [*QKV, *QKV_SCALES, LENGTHS, *QKV_POINTS], 1, {"num_heads": 2}, 1e-4),
    ("QuantizeLinear", [FLOATS, number(0.01), number(30000, np.uint16)], 1, {}, 0),
    ("DequantizeLinear", [bytes_of(np.int16, 5, 12), number(0.01), number(-5, np.int16)], 1, {}, 1e-6),
]


def model_of(
    op_type: str, inputs: Sequence[Array | None], varying: int, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node; the first inputs are arguments, the others constants."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, ["y"], domain="com.microsoft", **attributes)
    arguments = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names[:varying], inputs, strict=False)
        if x is not None
    ]
    constants = [
        numpy_helper.from_array(x, n)
        for n, x in zip(names[varying:], inputs[varying:], strict=True)
        if x is not None
    ]
    made = helper.make_graph([node], "g", arguments, [onnx.ValueInfoProto(name="y")], constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


@pytest.mark.sample(6)
@pytest.mark.parametrize(("op_type", "inputs", "varying", "attributes", "allowed"), CASES)
def test_operator(
    op_type: str, inputs: Sequence[Array | None], varying: int, attributes: dict[str, Any], allowed: float
) -> None:
    model = model_of(op_type, inputs, varying, **attributes)
    feeds = {f"x{i}": x for i, x in enumerate(inputs[:varying]) if x is not None}
    (expected,) = reference_session(model).run(None, feeds)
    found = stepwell.compile(model).run(feeds)["y"]
    assert found.dtype == expected.dtype and found.shape == expected.shape
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    assert difference.max() <= allowed
    assert not allowed or difference.mean() < 0.1 * allowed  # by ties, or in the last digits


def test_mean_of_bytes_which_onnx_runtime_does_not_have() -> None:
    model = model_of("QLinearReduceMean", [*X, *OUT], 1, axes=[1, 3], keepdims=0)
    found = stepwell.compile(model).run({"x0": X[0]})["y"]
    mean = (X[0].astype(np.float64) - 131).mean((1, 3)) * 0.05
    expected = np.clip(np.rint(mean / 0.11) + 77, 0, 255)
    assert found.dtype == np.uint8 and np.abs(found.astype(np.float64) - expected).max() <= 1


def test_operators_are_said_to_be_native() -> None:
    module = import_onnx(model_of("QLinearAdd", [*X, *Z, *OUT], 4), StepwellContext())
    calls = [op for op in module.walk() if isinstance(op, dialect.CallOp)]
    assert [support_of(op) for op in calls] == [NATIVE]
