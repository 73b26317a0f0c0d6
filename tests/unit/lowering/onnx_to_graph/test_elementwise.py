"""Elementwise operators, reductions and normalizations of ONNX at several opsets, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import pytest
from onnx import TensorProto

import stepwell
from stepwell.passes import run_pipeline
from tests.graph_ops import run_module
from tests.kernels import numbers
from tests.onnx_models import imported, onnx_model

DTYPES: dict[int, str] = {TensorProto.FLOAT: "f4", TensorProto.INT32: "i4", TensorProto.UINT8: "u1"}

F = "float[2,3,4]"
# The opset, then the graph; x is 2x3x4.
CASES = [
    (6, f"({F} x) => ({F} y) {{ y = Clip<min = -1.0, max = 0.5>(x) }}"),
    (13, f"({F} x, float l, float[1] h) => ({F} y) {{ y = Clip(x, l, h) }}"),
    (13, f"({F} x, float l, float h) => ({F} y) {{ y = Clip(x, , h) }}"),
    (13, f"({F} x, float[4] b) => (bool[2,3,4] y) {{ y = Greater(x, b) }}"),
    (16, f"({F} x, float[4] b) => (bool[2,3,4] y) {{ y = LessOrEqual(x, b) }}"),
    (13, f"({F} x, float[4] b, float[3,1] c) => ({F} y) {{ y = Max(x, b, c) }}"),
    (13, f"({F} x, float[4] b, float[3,1] c) => ({F} y) {{ y = Mean(x, b, c) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Reciprocal(x) }}"),
    (13, f"({F} x) => (int32[2,3,4] y) {{ y = Cast<to = 6>(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = HardSigmoid<alpha = 0.3>(x) }}"),
    (14, f"({F} x) => ({F} y) {{ y = HardSwish(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Selu(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Celu<alpha = 0.7>(x) }}"),
    (18, f"({F} x) => ({F} y) {{ y = Mish(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Softsign(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = ThresholdedRelu<alpha = 0.2>(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Shrink<lambd = 0.4, bias = 0.1>(x) }}"),
    (20, f'({F} x) => ({F} y) {{ y = Gelu<approximate = "tanh">(x) }}'),
    (16, f"({F} x, float[4] b) => ({F} y) {{ y = PRelu(x, b) }}"),
    (11, f"({F} x) => ({F} y) {{ y = Softmax(x) }}"),
    (11, f"({F} x) => ({F} y) {{ y = LogSoftmax<axis = 0>(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Softmax<axis = 1>(x) }}"),
    (11, f"({F} x) => ({F} y) {{ y = Hardmax(x) }}"),
    (13, f"({F} x) => ({F} y) {{ y = Hardmax(x) }}"),
    (11, f"({F} x) => (float[2,1,4] y) {{ y = ReduceMean<axes = [-2]>(x) }}"),
    (
        13,
        f"({F} x) => (float[2,4] y) {{ a = Constant<value_ints = [1]>() y = ReduceSum<keepdims = 0>(x, a) }}",
    ),
    (18, f"({F} x) => ({F} y) {{ y = ReduceSum<noop_with_empty_axes = 1>(x) }}"),
    (18, f"({F} x) => (float[1,1,1] y) {{ y = ReduceL2(x) }}"),
    (18, f"({F} x) => (float[1,1,1] y) {{ y = ReduceLogSumExp(x) }}"),
    (13, f"({F} x) => (int64[2,3] y) {{ y = ArgMax<axis = -1, keepdims = 0, select_last_index = 1>(x) }}"),
    (14, f"({F} x) => ({F} y) {{ a = Constant<value_int = 1>() y = CumSum<reverse = 1>(x, a) }}"),
    (9, f"({F} x, float[3] s, float[3] v) => ({F} y) {{ w = Abs(v) y = BatchNormalization(x, s, s, s, w) }}"),
    (17, f"({F} x, float[4] s) => ({F} y, float[2,3,1] m) {{ y, m = LayerNormalization(x, s) }}"),
    (13, f"({F} x, float[3] s) => ({F} y) {{ y = InstanceNormalization(x, s, s) }}"),
    (21, f"({F} x, float[3] s) => ({F} y) {{ y = GroupNormalization<num_groups = 3>(x, s, s) }}"),
    (13, f"({F} x) => ({F} y) {{ y = LpNormalization<axis = 1, p = 1>(x) }}"),
    (13, "(float[2,5,4,4] x) => (float[2,5,4,4] y) { y = LRN<size = 3, alpha = 0.3>(x) }"),
    (13, "(float[2,3,4,5] x) => (float[2,3,4,5] y) { y = MeanVarianceNormalization(x) }"),
    (13, "(int32[6] x, int32[6] b) => (int32[6] y) { y = Mod(x, b) }"),
    (13, "(int32[6] x, int32[6] b) => (int32[6] y) { y = Mod<fmod = 1>(x, b) }"),
    (13, '(uint8[6] x) => (uint8[6] y) { y = BitShift<direction = "RIGHT">(x, x) }'),
    (15, "(int32[6] x, float[6] b) => (int32[6] y) { w = Abs(x) y = Pow(w, b) }"),
]


def compute(opset: int, body: str) -> tuple[list[Any], list[Any]]:
    """What ONNX Runtime computes, and what the converted model does, for made-up inputs."""
    model = onnx_model(f"g {body}", opset)
    feeds: dict[str, Any] = {}
    for seed, info in enumerate(model.graph.input):
        tensor = info.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        dtype = DTYPES[tensor.elem_type]
        feeds[info.name] = numbers(dtype, *shape, special=False, seed=seed)
        if dtype == "i4":
            feeds[info.name][feeds[info.name] == 0] = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected: list[Any] = list(session.run(None, feeds))
    module, ctx = imported(model)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    module.verify()
    return expected, list(run_module(module, list(feeds.values()), ctx.weights))


@pytest.mark.parametrize(("opset", "body"), CASES, ids=[body.partition("=> ")[2] for _, body in CASES])
def test_as_onnx_runtime(opset: int, body: str) -> None:
    expected, actual = compute(opset, body)
    for want, got in zip(expected, actual, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_dropout_in_inference_is_its_input() -> None:
    model = onnx_model(f"g ({F} x) => ({F} y, bool[2,3,4] m) {{ y, m = Dropout(x) }}", 13)
    module, ctx = imported(model)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    x = numbers(np.float32, 2, 3, 4)
    y, mask = run_module(module, [x], ctx.weights)
    assert y is x and mask.all()


def test_dropout_may_train_at_run_time() -> None:
    model = onnx_model(
        f"g ({F} x, float r, bool t) => ({F} y, bool[2,3,4] m) {{ y, m = Dropout(x, r, t) }}", 13
    )
    x, half = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4), np.array(0.5, np.float32)
    compiled = stepwell.compile(model)
    told = compiled.run({"x": x, "r": half, "t": np.array(False)})
    assert np.array_equal(told["y"], x) and told["m"].all()
    drawn = [compiled.run({"x": x, "r": half, "t": np.array(True)}) for _ in range(2)]
    for result in drawn:
        assert np.allclose(result["y"], np.where(result["m"], 2 * x.astype(np.float64), 0))
    assert not np.array_equal(drawn[0]["m"], drawn[1]["m"])
