"""Worked cases of quantizing whole models: what stays in f32 and why, and refusals in full."""

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
from stepwell.tools import cli
from stepwell.tools.quantize import data, quantize
from stepwell.tools.quantize.timing import Times
from tests.support.samples import whole

Array = npt.NDArray[Any]
RNG = np.random.default_rng(8)


def model(body: str, signature: str, **weights: Array) -> onnx.ModelProto:
    """A model of nodes in ONNX's text, with weights."""
    made: Any = parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {signature} {{ {body} }}')
    for name, array in weights.items():
        made.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return made


CONV = model(
    '["conv1/Conv"] y = Conv (x, w)',
    "(float[N,1,2,2] x) => (float[N,4,2,2] y)",
    w=RNG.normal(size=(4, 1, 1, 1)),
)
SAMPLES = {"x": RNG.standard_normal((8, 1, 2, 2)).astype(np.float32)}


def refused(*arguments: Any, **options: Any) -> StepwellError:
    with pytest.raises(StepwellError) as caught:
        stepwell.quantize(*arguments, threads=1, **options)
    return caught.value


@whole
def test_a_layer_that_spoils_the_next_one_is_named_and_the_others_are_int8() -> None:
    """A hidden channel 500 times larger than the others leaves them no digits."""
    first, second = RNG.normal(size=(16, 24)), RNG.normal(size=(24, 24))
    first[:, 0] *= 500
    second[0] /= 500
    body = (
        "[one] a = MatMul (x, u) b = Relu (a) [two] c = MatMul (b, v) d = Relu (c) [three] y = MatMul (d, w)"
    )
    weights = {"u": first, "v": second, "w": RNG.normal(size=(24, 8))}
    proto = model(body, "(float[N,16] x) => (float[N,8] y)", **weights)
    x = {"x": RNG.standard_normal((32, 16)).astype(np.float32)}
    made = stepwell.quantize(proto, x, metric="sqnr", accuracy_drop="30dB", keep_size=True, threads=1)
    assert {row.name: row.reason for row in made.report.layers} == {
        "one": "quantized",
        "two": "kept: accuracy",
        "three": "quantized",
    }


@whole
def test_layers_that_are_no_faster_stay_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 products gain nothing: by the times of a made-up machine, on which one of two layers does."""
    body = "[small] a = Conv (x, w) [large] y = Conv (a, v)"
    weights = {"w": RNG.normal(size=(4, 1, 1, 1)), "v": RNG.normal(size=(4, 4, 1, 1))}
    proto = model(body, "(float[N,1,2,2] x) => (float[N,4,2,2] y)", **weights)

    def times(models: object, feed: object, layers: object) -> list[Times]:
        return [Times(2.0, {"small": 1.0, "large": 1.0}), Times(1.7, {"small": 0.98, "large": 0.7})]

    monkeypatch.setattr(quantize, "times_of", times)
    made = stepwell.quantize(proto, SAMPLES, threads=1)
    assert [(row.name, row.reason) for row in made.report.layers] == [
        ("small", "kept: no gain"),
        ("large", "quantized"),
    ]
    error = refused(proto, SAMPLES, only=["small"])
    assert (error.code, error.message) == ("nothing-to-quantize", "no layer is faster when it is quantized")


def test_an_activation_that_overflows_names_the_node_that_first_has_it() -> None:
    body = "[fine] a = MatMul (x, w) [huge] b = MatMul (a, v) [last] y = MatMul (b, w)"
    weights = {"w": np.eye(4), "v": np.full((4, 4), 3e38)}
    proto = model(body, "(float[N,4] x) => (float[N,4] y)", **weights)
    x = np.zeros((9, 4), np.float32)
    x[3] = 100
    error = refused(proto, {"x": x}, keep_size=True)
    assert (error.code, error.message) == ("bad-data", 'sample 3 makes Inf before or in node "last"')


def test_refusals_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused(CONV, SAMPLES, keep_f32=["conv1"])
    assert (error.code, error.message) == ("bad-option", "--keep-f32 matches no node: 'conv1'")
    assert "conv1/Conv" in (error.help or "")
    error = refused(CONV)
    assert error.message == "int8 needs samples to find the ranges of activations"
    assert error.help == "--data F.npz, or --scheme int8-dynamic, which needs none"
    error = refused(CONV, SAMPLES, "int3")
    assert error.code == "bad-option" and "there is int8, w8, int8-dynamic, f16" in (error.help or "")
    ready = stepwell.quantize(CONV, SAMPLES, keep_size=True, threads=1).model
    error = refused(ready, SAMPLES)
    assert error.code == "already-quantized" and error.message.startswith("1 QuantizeLinear nodes, first")
    assert error.help == "compile it as it is"
    monkeypatch.setattr(data, "MAX_BYTES", 100)
    assert refused(CONV, SAMPLES).code == "too-large"
    assert stepwell.quantize(CONV, SAMPLES, keep_size=True, samples=6, threads=1).report.samples == 6


@whole
def test_nothing_is_written_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(CONV, tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", x=SAMPLES["x"])
    asked = ["quantize", str(tmp_path / "m.onnx"), "--data", str(tmp_path / "d.npz"), "--keep-size"]
    asked += ["--metric", "sqnr", "--accuracy-drop", "300dB", "-o", str(tmp_path / "q.onnx")]
    assert cli.main(asked) == 1
    assert "error[accuracy-budget]" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.npz", "m.onnx"]
