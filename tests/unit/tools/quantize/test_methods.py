"""Methods that look at activations: gptq, awq, smooth and bias correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

import stepwell
from stepwell.dialects.quantization.codes import dequantized, weight_entry, weight_scales
from stepwell.dialects.quantization.gptq import gptq_weight, product_error
from stepwell.runtime.errors import StepwellError
from stepwell.tools.quantize.report import Quantized
from tests.support.samples import whole

Array = npt.NDArray[Any]

_NORM = """
<ir_version: 8, opset_import: ["" : 21]>
net (float[N,48] x) => (float[N,16] y) {
  [norm] n = LayerNormalization (x, g, b)
  [up] h = MatMul (n, w)
  [relu] r = Relu (h)
  [down] y = MatMul (r, v)
}
"""
_BIAS = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,4,5,5] x) => (float[N,6,5,5] y) {
  [conv] y = Conv <kernel_shape=[1,1], group=2> (x, w, b)
}
"""


def _model(text: str, **arrays: Array) -> onnx.ModelProto:
    model: Any = parser.parse_model(text)
    for name, array in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return model


def _norm_model(rng: np.random.Generator) -> onnx.ModelProto:
    """A norm three of whose gains are 60, a product that undoes them, and another one."""
    gain, w = np.ones(48), rng.standard_normal((48, 32)) / 7
    gain[[3, 20, 41]] = 60
    w[[3, 20, 41]] /= 60
    arrays = {"g": gain, "b": rng.standard_normal(48) / 10, "w": w, "v": rng.standard_normal((32, 16)) / 6}
    return _model(_NORM, **arrays)


def _ratio(made: Quantized) -> float:
    ratio = made.report.accuracy.sqnr
    assert ratio is not None
    return ratio


@pytest.mark.parametrize("to", ["u4", "s4"])
@pytest.mark.parametrize("by_diagonal", [True, False])
def test_gptq_weight(to: str, by_diagonal: bool) -> None:
    """The numbers are steps of the codes, the last block is short, and products change less than rounded."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 72)) @ rng.standard_normal((72, 72))
    x[:, 5] = 0
    w = rng.standard_normal((72, 24)).astype(np.float32)
    moments = x.T @ x
    entry = weight_entry("", w, to, 0, block=32)
    scales = weight_scales(w, to, 0, block=32)
    found = gptq_weight(w, moments, scales, 32, by_diagonal=by_diagonal)
    np.testing.assert_allclose(dequantized(found, entry), found, rtol=1e-6, atol=1e-7)
    rounded = dequantized(w, entry).astype(np.float32)
    assert product_error(found - w, moments) < 0.6 * product_error(rounded - w, moments)
    wanted = float(np.sum((x @ (found - w)) ** 2))
    assert product_error(found - w, moments) == pytest.approx(wanted)


def test_gptq_too_large() -> None:
    with pytest.raises(StepwellError) as caught:
        gptq_weight(
            np.zeros((16_385, 1), np.float32),
            np.zeros((1, 1)),
            weight_scales(np.zeros((32, 1), np.float32), "u4", 0, block=32),
            32,
        )
    assert caught.value.code == "too-large"


@whole
def test_methods_of_four_bits() -> None:
    """`gptq` and `awq` lose less than ranges of the least error; `gptq` is the default with data."""
    rng = np.random.default_rng(2)
    model = _norm_model(rng)
    x = (rng.standard_normal((64, 6)) @ rng.standard_normal((6, 48))).astype(np.float32)
    ratios = {
        method: _ratio(stepwell.quantize(model, {"x": x}, "w4", method=method, block=16, threads=1))
        for method in ("mse", "gptq", "awq")
    }
    assert ratios["gptq"] > ratios["mse"] + 3
    assert ratios["awq"] > ratios["mse"]
    default = stepwell.quantize(model, {"x": x}, "w4", block=16, threads=1)
    assert _ratio(default) == ratios["gptq"]
    onnx.checker.check_model(default.model, full_check=True)


@whole
def test_smooth() -> None:
    """Three gains of 60 that a product undoes: activations are quantized with far less noise."""
    rng = np.random.default_rng(3)
    model = _norm_model(rng)
    x = rng.standard_normal((64, 48)).astype(np.float32)
    plain = stepwell.quantize(model, {"x": x}, keep_size=True, threads=1)
    smooth = stepwell.quantize(model, {"x": x}, keep_size=True, smooth=0.5, threads=1)
    assert _ratio(smooth) > _ratio(plain) + 6


def test_bias_correction() -> None:
    """The mean of each output channel is that of f32, for a convolution in groups."""
    rng = np.random.default_rng(4)
    w = rng.standard_normal((6, 2, 1, 1))
    w[:, 0] *= 40
    model = _model(_BIAS, w=w, b=rng.standard_normal(6))
    x = (rng.standard_normal((40, 4, 5, 5)) + np.array([0, 9, 0, -7])[:, None, None]).astype(np.float32)
    wanted = np.asarray(stepwell.compile(model, threads=1).run({"x": x})["y"]).mean(axis=(0, 2, 3))

    def error(**options: Any) -> float:
        made = stepwell.quantize(model, {"x": x}, keep_size=True, threads=1, **options).compile()
        found = np.asarray(made.run({"x": x})["y"]).mean(axis=(0, 2, 3))
        return float(np.abs(found - wanted).max())

    assert error(bias_correction=True) < 0.3 * error()


def test_refusals() -> None:
    model = _norm_model(np.random.default_rng(0))
    data = {"x": np.zeros((8, 48), np.float32)}
    cases: list[tuple[str, Any, dict[str, Any], str]] = [
        ("w4", None, {"method": "gptq"}, "missing-data"),
        ("w4", None, {"method": "awq"}, "missing-data"),
        ("int8", None, {"smooth": 0.5, "calibration": "global"}, "missing-data"),
        ("int8", data, {"smooth": 2.0}, "bad-option"),
        ("w4", data, {"smooth": 0.5}, "bad-option"),
        ("w8", data, {"bias_correction": True}, "bad-option"),
        ("w8", data, {"method": "gptq"}, "bad-option"),
    ]
    for scheme, given, options, code in cases:
        with pytest.raises(StepwellError) as caught:
            stepwell.quantize(model, given, scheme, threads=1, **options)
        assert caught.value.code == code, caught.value.render()


def test_gptq_of_few_samples() -> None:
    """Six samples of 48 channels say nothing of others: codes that fit these alone are not taken."""
    rng = np.random.default_rng(5)
    model = _norm_model(rng)
    x = rng.standard_normal((12, 48)).astype(np.float32)
    gptq, mse = (
        _ratio(stepwell.quantize(model, {"x": x}, "w4", method=method, symmetric=True, block=16, threads=1))
        for method in ("gptq", "mse")
    )
    assert gptq >= mse
