"""Libraries: models that share weights in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools import cli

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((64, 64)).astype(np.float32)
PREFILL = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 64] x) => (float[N, 64] y) <float[64, 64] w> { y = MatMul (x, w) }
"""
DECODE = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[1, 64] x) => (float[1, 64] y) <float[64, 64] w> { t = MatMul (x, w) y = Relu (t) }
"""


def model(text: str, table: np.ndarray[Any, Any] = TABLE) -> CompiledModel:
    proto = onnx.parser.parse_model(text.replace(" <float[64, 64] w>", ""))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(table, "w"))
    return stepwell.compile(proto)


@pytest.fixture(scope="module")
def models() -> dict[str, CompiledModel]:
    return {"prefill": model(PREFILL), "decode": model(DECODE)}


def test_functions_share_their_weights_in_one_file(models: dict[str, CompiledModel], tmp_path: Path) -> None:
    library = stepwell.Library(models)
    library.save(tmp_path / "llm.stepwell")
    x = RNG.standard_normal((5, 64)).astype(np.float32)
    loaded: Any = stepwell.load(tmp_path / "llm.stepwell", threads=1)
    for each in (library, loaded, stepwell.Library.load(tmp_path / "llm.stepwell")):
        assert each.functions == tuple(each) == ("prefill", "decode") and len(each) == 2
        np.testing.assert_array_equal(each["prefill"](x), models["prefill"](x))
        np.testing.assert_array_equal(each["decode"](x[:1]), models["decode"](x[:1]))
    assert loaded["decode"] is loaded["decode"] and loaded["decode"].threads == 1
    wanted = sum(array.nbytes for array in models["prefill"].image.weights)
    assert sum(array.nbytes for array in library.image.weights) < 1.1 * wanted


def test_other_weights_stay_apart(models: dict[str, CompiledModel]) -> None:
    other = TABLE.copy()
    other[0, 5] += 100
    library = stepwell.Library({"a": models["decode"], "b": model(DECODE, other)})
    x = np.ones((1, 64), np.float32)
    np.testing.assert_array_equal(library["a"](x), models["decode"](x))
    changed = np.flatnonzero(np.asarray(library["b"](x)) != np.asarray(library["a"](x)))
    assert changed.tolist() == [5]


def test_imports_are_what_python_runs() -> None:
    text = '<ir_version: 9, opset_import: ["" : 20]> '
    text += "g (uint8[N] x) => (uint8[H, W, 3] y) { y = ImageDecoder (x) }"
    library = stepwell.Library({"u": stepwell.compile(onnx.parser.parse_model(text))})
    assert [(each.function, each.kind) for each in library.imports] == [("u", "numpy")]
    assert library.imports[0].bytes > 0


def test_what_a_library_refuses(
    models: dict[str, CompiledModel], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = stepwell.Library(models)
    with pytest.raises(StepwellError, match=r"unknown-function.*'decod'"):
        library["decod"]
    for name in ("", "a b", "1a", "../x"):
        with pytest.raises(StepwellError, match=r"error\[bad-name\]"):
            stepwell.Library({name: models["decode"]})
    with pytest.raises(StepwellError, match="has no function"):
        stepwell.Library({}).save(tmp_path / "empty.stepwell")
    with pytest.raises(StepwellError, match="unknown-file-type"):
        library.save(tmp_path / "m.onnx")
    library.save(tmp_path / "llm.stepwell")
    assert cli.main(["run", str(tmp_path / "llm.stepwell")]) == 1
    assert "library of prefill, decode" in capsys.readouterr().err


def test_a_file_of_two_functions_has_their_table_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[N, 512] x) => (float[N, 512] y) {{ {} }}'
    parts: dict[str, CompiledModel] = {}
    table = rng.standard_normal((512, 512)).astype(np.float32)
    for name, body in (("prefill", "y = MatMul (x, w)"), ("decode", "t = MatMul (x, w) y = Relu (t)")):
        proto = onnx.parser.parse_model(text.format(body))
        proto.graph.initializer.append(onnx.numpy_helper.from_array(table, "w"))
        parts[name] = stepwell.compile(proto)
    library = stepwell.Library(parts)
    for suffix, one in (("stepwell", parts["prefill"].save), ("so", None)):
        both, alone = tmp_path / f"both.{suffix}", tmp_path / f"one.{suffix}"
        if one is None:
            stepwell.export(library, both)
            stepwell.export(parts["prefill"], alone)
        else:
            library.save(both)
            one(alone)
        assert both.stat().st_size < 1.1 * alone.stat().st_size
