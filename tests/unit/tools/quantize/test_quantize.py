"""Models from f32 to fewer bits: the file, the report, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel

Array = npt.NDArray[Any]

_TEXT = """
<ir_version: 8, opset_import: ["" : 17], producer_name: "p">
net (float[N,2,6,6] x) => (float[N,4] y) {
  [conv] c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w)
  [norm] b = BatchNormalization(c, s, o, m, v)
  [relu] r = Relu(b)
  [pool] p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)
  [conv2] d = Conv(p, w2, b2)
  [add] e = Add(d, p)
  [flat] f = Flatten(e)
  [fc] g = Gemm(f, w3, b3)
  [soft] y = Softmax(g)
}
"""
_RELU = '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
_PRODUCT = """
<ir_version: 8, opset_import: ["" : 17], producer_name: "p">
net (float[N,8] x) => (float[N,4] y) { [product] y = MatMul (x, w) }
"""
_SHAPES = {
    "w": (4, 2, 3, 3),
    "w2": (4, 4, 1, 1),
    "b2": (4,),
    "w3": (36, 4),
    "b3": (4,),
    **dict.fromkeys("som", (4,)),
}


def _model() -> onnx.ModelProto:
    model: Any = parser.parse_model(_TEXT)
    rng = np.random.default_rng(0)
    for name, shape in _SHAPES.items():
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    model.graph.initializer.append(numpy_helper.from_array(np.full(4, 2, np.float32), "v"))
    return model


def _data(count: int = 12) -> dict[str, Array]:
    return {"x": np.random.default_rng(1).standard_normal((count, 2, 6, 6)).astype(np.float32)}


def _kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def _run(model: CompiledModel, x: Array) -> Array:
    """The only result of a model, as numbers."""
    return np.asarray(model.run({"x": x})["y"])


@pytest.mark.slow
def test_int8(tmp_path: Path) -> None:
    """Each product reads quantized operands; the file is valid, and near f32; the report has all layers."""
    made = stepwell.quantize(_model(), _data(), keep_size=True, rank=True, accuracy_drop="50%", threads=1)
    onnx.checker.check_model(made.model, full_check=True)
    kinds = _kinds(made.model)
    assert "BatchNormalization" not in kinds
    # x, relu, pool, conv2, the sum (integers only with a pair of its own), and flat, which `fc` reads.
    assert kinds.count("QuantizeLinear") == 6
    assert (_scale_of(made.model, "r"), _scale_of(made.model, "e")) == (
        _scale_of(made.model, "p"),
        _scale_of(made.model, "f"),
    )
    assert made.model.producer_name == "p"
    x = _data()["x"]
    y, z = _run(made.compile(), x), _run(stepwell.compile(_model(), threads=1), x)
    assert 0 < np.abs(y - z).max() < 0.1
    report = made.report
    assert [(layer.name, layer.decision) for layer in report.layers] == [
        ("conv", "int8"),
        ("conv2", "int8"),
        ("fc", "int8"),
    ]
    assert all(layer.weight_sqnr and layer.weight_sqnr > 35 for layer in report.layers)
    assert all(layer.sqnr_alone and layer.sqnr_alone > 20 for layer in report.layers)
    assert report.bytes < report.bytes_f32
    report.write(tmp_path / "report")
    assert "conv2" in (tmp_path / "report" / "index.html").read_text()
    made.save(tmp_path / "q.onnx")
    with pytest.raises(StepwellError) as caught:
        stepwell.quantize(str(tmp_path / "q.onnx"), _data())
    assert caught.value.code == "already-quantized"
    _expect_equal_in_onnx_runtime(made.model, x, y)


def _scale_of(model: onnx.ModelProto, name: str) -> float:
    """The scale of the only QuantizeLinear that reads a value."""
    (node,) = (
        node for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] == name
    )
    (scale,) = (each for each in model.graph.initializer if each.name == node.input[1])
    return float(numpy_helper.to_array(scale))


def _expect_equal_in_onnx_runtime(model: onnx.ModelProto, x: Array, y: Array) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    assert np.abs(found - y).max() < 0.05


def test_a_product() -> None:
    """The steps from a model to a file, on the smallest one: the result is that of its codes."""
    model: Any = parser.parse_model(_PRODUCT)
    rng = np.random.default_rng(0)
    w = rng.standard_normal((8, 4)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    x = rng.uniform(-1, 3, (9, 8)).astype(np.float32)
    x[0, :2] = -1, 3
    made = stepwell.quantize(model, {"x": x}, keep_size=True, threads=1)
    assert _kinds(made.model) == ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "MatMul"]
    assert made.model.producer_name == "p"
    known = {each.name: numpy_helper.to_array(each) for each in made.model.graph.initializer}
    scale = np.abs(w).max(axis=0) / 127
    np.testing.assert_array_equal(known["w_quantized"], np.rint(w / scale))
    assert (known["x_scale"], known["x_zero_point"]) == (np.float32(4 / 255), 64)
    step = known["x_scale"]
    wanted = ((np.rint(x / step)) * step) @ (known["w_quantized"] * scale)
    np.testing.assert_allclose(_run(made.compile(), x), wanted, rtol=1e-4, atol=1e-4)
    assert made.report.accuracy.metric == "agreement"
    assert made.report.layers[0].bytes < made.report.layers[0].bytes_f32


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "w8"},
        {"scheme": "f16"},
        {"scheme": "bf16"},
        {"scheme": "f8"},
        {"scheme": "w4", "block": 16},
        {"scheme": "w4", "symmetric": True},
        {"scheme": "w4", "format": "matmulnbits", "block": 16},
        {"scheme": "w4", "format": "matmulnbits", "symmetric": True},
    ],
    ids=str,
)
def test_weights_alone(options: dict[str, Any]) -> None:
    made = stepwell.quantize(_model(), _data(), **options, threads=1)
    onnx.checker.check_model(made.model, full_check=True)
    x = _data()["x"]
    assert np.abs(_run(made.compile(), x) - _run(stepwell.compile(_model(), threads=1), x)).max() < 0.2
    assert ("MatMulNBits" in _kinds(made.model)) == (options.get("format") == "matmulnbits")
    assert "QuantizeLinear" not in _kinds(made.model)


@pytest.mark.slow
def test_dynamic_activations() -> None:
    model: Any = parser.parse_model(_PRODUCT)
    w = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    x = np.random.default_rng(1).standard_normal((9, 8)).astype(np.float32)
    made = stepwell.quantize(model, {"x": x}, "int8-dynamic", threads=1)
    assert _kinds(made.model)[:2] == ["DynamicQuantizeLinear", "MatMulInteger"]
    onnx.checker.check_model(made.model, full_check=True)
    assert np.abs(_run(made.compile(), x) - x @ w).max() < 0.1
    with pytest.raises(StepwellError) as caught:  # convolutions and Gemm alone
        stepwell.quantize(_model(), _data(), "int8-dynamic")
    assert caught.value.code == "nothing-to-quantize"


@pytest.mark.slow
def test_keep_and_budgets() -> None:
    model, data = _model(), _data()
    made = stepwell.quantize(model, data, keep_f32=["conv", "f*"], keep_size=True, threads=1)
    assert [layer.reason for layer in made.report.layers] == ["kept: asked", "quantized", "kept: asked"]
    assert _kinds(made.model).count("QuantizeLinear") == 2
    made = stepwell.quantize(model, data, only=["fc"], keep_size=True, threads=1)
    assert [layer.decision for layer in made.report.layers] == ["f32", "f32", "int8"]
    with pytest.raises(StepwellError) as caught:
        stepwell.quantize(model, data, metric="sqnr", accuracy_drop="90dB", keep_size=True, threads=1)
    assert caught.value.code == "accuracy-budget"
    everything = stepwell.quantize(model, data, metric="sqnr", keep_size=True, threads=1)
    ratio = everything.report.accuracy.quantized + 2
    made = stepwell.quantize(
        model, data, metric="sqnr", accuracy_drop=f"{ratio}dB", keep_size=True, threads=1
    )
    assert made.report.accuracy.quantized >= ratio
    assert {layer.decision for layer in made.report.layers} == {"f32", "int8"}


def test_refusals() -> None:
    relu: Any = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
    )
    for refused, code in (
        (lambda: stepwell.quantize(_model()), "missing-data"),
        (lambda: stepwell.quantize(_model(), _data(), keep_f32=["conv1"]), "bad-option"),
        (lambda: stepwell.quantize(_model(), _data(), "int3"), "bad-option"),
        (lambda: stepwell.quantize(_model(), _data(), "w4", block=24), "bad-option"),
        (lambda: stepwell.quantize(_model(), _data(), "int8", method="mse"), "bad-option"),
        (lambda: stepwell.quantize(_model(), _data(), format="matmulnbits"), "bad-option"),
        (lambda: stepwell.quantize(_model(), _data(), accuracy_drop="-1%"), "bad-option"),
        (lambda: stepwell.quantize(relu, {"x": np.zeros(8, np.float32)}), "nothing-to-quantize"),
    ):
        with pytest.raises(StepwellError) as caught:
            refused()
        assert caught.value.code == code, caught.value.render()
