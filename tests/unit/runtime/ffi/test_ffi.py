"""Functions by the ABI of apache-tvm-ffi: registered, called by models, and models as functions."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell import ffi
from stepwell.runtime.errors import StepwellError

tvm_ffi: Any = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")

TOP3 = """
<ir_version: 8, opset_import: ["" : 18, "ai.stepwell.ffi" : 1]>
g (float[N, 8] x) => (float[N, 3] y) {
  e = Exp (x)
  t = ai.stepwell.ffi.top3 <result = ["f32[N, 3]"]> (e)
  y = Neg (t)
}
"""
NONZERO = """
<ir_version: 8, opset_import: ["" : 18, "ai.stepwell.ffi" : 1]>
g (float[N] x) => (float[M] y, int64[1] n) {
  e = Relu (x)
  t, c = ai.stepwell.ffi.found <result = ["f32[K]", "i64[1]"]> (e)
  y = Neg (t)
  n = Identity (c)
}
"""
LINEAR = """
<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 4] x, float[4, 2] w) => (float[N, 2] y) { y = MatMul (x, w) }
"""
X = np.random.default_rng(0).standard_normal((5, 8), np.float32)


@pytest.fixture(autouse=True)
def clean() -> Generator[None]:
    """No function of a test is left registered."""
    before = ffi.names()
    yield
    for name in set(ffi.names()) - set(before):
        ffi.remove(name)


def model(text: str, name: str = "") -> onnx.ModelProto:
    """A model; the text format has no dots in names of operators."""
    found = onnx.parser.parse_model(text)
    for node in found.graph.node:
        if node.domain == "ai.stepwell.ffi" and name:
            node.op_type = name
    return found


def top3(x: Any) -> object:
    return np.sort(np.from_dlpack(x), 1)[:, :-4:-1].copy()


def test_functions_have_names() -> None:
    assert ffi.register("my.double")(double := lambda x: 2 * x) is double
    assert ffi.get("my.double")(3) == 6 and ffi.names("my.") == ["my.double"]
    with pytest.raises(StepwellError, match=r"bad-option.*already"):
        ffi.register("my.double")(double)
    ffi.register("my.double", override=True)(lambda x: 3 * x)
    assert tvm_ffi.get_global_func("my.double")(3) == 9
    with pytest.raises(StepwellError, match=r"unknown-function(.|\n)*registered are my\.double"):
        ffi.get("my.duoble")
    ffi.remove("my.double")
    for call in (ffi.get, ffi.remove):
        with pytest.raises(StepwellError, match="unknown-function"):
            call("my.double")


@pytest.mark.parametrize("name", ["ffi.ModuleLoadFromFile", "testing.echo", ""])
def test_the_packages_own_functions_are_out_of_reach(name: str) -> None:
    with pytest.raises(StepwellError, match="unknown-function"):
        ffi.get(name)
    with pytest.raises(StepwellError, match="bad-option"):
        ffi.register(name)
    assert name not in ffi.names()


@pytest.mark.parametrize("executor", ["auto", "interpreter"])
def test_a_model_calls_a_function(executor: Any) -> None:
    ffi.register("my.top3")(top3)
    compiled = stepwell.compile(model(TOP3, "my.top3"), executor=executor)
    for rows in (5, 1, 0):
        expected = -np.sort(np.exp(X[:rows]), 1)[:, :-4:-1]
        np.testing.assert_allclose(np.asarray(compiled(X[:rows]), np.float32), expected, rtol=1e-5)


def test_an_artifact_looks_its_functions_up_when_it_is_loaded(tmp_path: Path) -> None:
    ffi.register("my.top3")(top3)
    stepwell.compile(model(TOP3, "my.top3")).save(tmp_path / "m.stepwell")
    ffi.remove("my.top3")
    ffi.register("my.top4")(top3)
    with pytest.raises(StepwellError, match=r"unknown-function.*'my\.top3'(.|\n)*registered are my\.top4"):
        stepwell.load(tmp_path / "m.stepwell")
    ffi.register("my.top3")(top3)
    assert np.asarray(stepwell.load(tmp_path / "m.stepwell")(X)).shape == (5, 3)


def test_a_function_decides_sizes_and_returns_several_values() -> None:
    def found(x: Any) -> object:
        array = np.from_dlpack(x)
        return array[array > 0], np.array([array.size])

    ffi.register("my.found")(found)
    y, n = stepwell.compile(model(NONZERO, "my.found"))(X[0])
    np.testing.assert_array_equal(y, -X[0][X[0] > 0])
    assert n.tolist() == [8]


def test_an_exception_arrives_as_it_was_raised_with_the_node() -> None:
    def fail(x: Any) -> object:
        raise KeyError("no such class")

    ffi.register("my.fail")(fail)
    compiled = stepwell.compile(model(TOP3, "my.fail"))
    for _ in range(2):
        with pytest.raises(KeyError, match="no such class") as caught:
            compiled(X)
        assert any("my.fail" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda x: np.zeros((5, 3)), TypeError, "must be of float32, found float64"),
        (lambda x: np.zeros((3, 5), np.float32), ValueError, r"must have shape \[5, 3\], found \[3, 5\]"),
        (lambda x: (x, x), ValueError, "returns 2 values, and the model uses 1"),
    ],
)
def test_a_result_that_is_not_as_announced(made: Any, error: type[Exception], text: str) -> None:
    ffi.register("my.wrong")(made)
    with pytest.raises(error, match=text):
        stepwell.compile(model(TOP3, "my.wrong"))(X)


def test_a_function_may_keep_what_it_gets() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> object:
        kept.append(x)
        return top3(x)

    ffi.register("my.keep")(keep)
    compiled = stepwell.compile(model(TOP3, "my.keep"))
    compiled(X)
    compiled(np.zeros_like(X))
    np.testing.assert_allclose(np.from_dlpack(kept[0]), np.exp(X), rtol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        '<result = ["f32[N,3]", "f32[N]"]>',
        "",
        '<result = ["x32[N]"]>',
        '<result = ["f32[N,3]"], k = 1>',
        "<result = [1]>",
    ],
)
def test_a_node_that_says_too_little(change: str) -> None:
    text = TOP3.replace('<result = ["f32[N, 3]"]>', change)
    with pytest.raises(StepwellError, match=r"error\[invalid-model\].*top3"):
        stepwell.compile(onnx.parser.parse_model(text))


def test_a_model_is_a_function_of_memory() -> None:
    compiled = stepwell.compile(model(LINEAR))
    function = compiled.as_function()
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((3, 4), np.float32), rng.standard_normal((4, 2), np.float32)
    y = np.full((3, 2), np.nan, np.float32)
    function(x, w, y)
    np.testing.assert_array_equal(y, np.asarray(compiled(x, w)))
    ffi.register("my.linear")(function)
    ffi.get("my.linear")(x[:1], w, y[:1])
    with pytest.raises(TypeError, match=r"'x' must be of float32, found float64"):
        function(x.astype(np.float64), w, y)
    with pytest.raises(ValueError, match=r"shape-mismatch"):
        function(x[:, :3], w, y)
    with pytest.raises(ValueError, match=r"'y' must have shape \[2, 2\], found \[3, 2\]"):
        function(x[:2], w, y)
    with pytest.raises(ValueError, match="contiguous"):
        function(x, w, np.zeros((2, 3), np.float32).T)
    with pytest.raises(TypeError, match="expected 2 inputs and 1 outputs, found 2 arrays"):
        function(x, w)


def test_a_model_whose_outputs_depend_on_data_is_no_function() -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[N] x) => (int64[1, M] y) { y = NonZero (x) }'
    with pytest.raises(StepwellError, match="unsupported-interface"):
        stepwell.compile(onnx.parser.parse_model(text)).as_function()
