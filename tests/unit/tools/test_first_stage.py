"""The first stage answers as compiled code does, and refuses what that refuses, in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import stepwell
from stepwell.lowering.onnx_to_graph import ConvertOnnxToGraphPass
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.driver.first_stage import FirstStage
from stepwell.tools.driver.options import CompileOptions
from tests.onnx_models import onnx_model

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def first_stage(text: str) -> FirstStage:
    """The first stage of a model in onnx's text form."""
    return FirstStage(onnx_model(text).SerializeToString(), CompileOptions())


def both(text: str, *inputs: object) -> tuple[Sequence[Array], Sequence[Array]]:
    """The outputs of the first stage, and of compiled code."""
    outputs = stepwell.compile(onnx_model(text), opt_level=0)(*inputs)
    return first_stage(text)(inputs, 1), outputs if isinstance(outputs, tuple) else (outputs,)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


TWO = "g (float[N] x, float[M] y) => (float[N] z) { z = Add(x, y) }"
GATHER = "g (float[N,4] x, int64[M] i) => (float[M,4] y) { y = Gather(x, i) }"
GATHER_ND = "g (float[N,4] x, int64[M,2] i) => (float[M] y) { y = GatherND(x, i) }"
SCAN = "g (float[3,4] x, int64 a) => (float[3,4] y) { y = CumSum(x, a) }"
SIZE = "g (int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }"
RESHAPE = "g (float[N,4] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }"
STRINGS = "g (string[N] x, int64[M] i) => (string[M] y) { y = Gather(x, i) }"
LIST = """g (seq(float[N]) x, int64 i) => (float[M] y) { y = SequenceAt(x, i) }"""
LOOP = """
g (int64 n, bool c, float[N] x) => (float[N] y) {
  y = Loop(n, c, x) <body = b (int64 i, bool go, float[N] a) => (bool more, float[N] s) {
    more = Identity(go) s = Add(a, a)
  }>
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (TWO, [X[0], X[1]]),
        (GATHER, [X, ints(-3, 2)]),
        (GATHER_ND, [X, ints(0, -4, 2, 3).reshape(2, 2)]),
        (SCAN, [X, np.int64(-2)]),
        (SIZE, [ints(3)]),
        (RESHAPE, [X, ints(2, 6)]),
        (LOOP, [np.int64(3), np.True_, X[0]]),
        (STRINGS, [np.array(["a", "b"], object), ints(1)]),
        (LIST, [[X[0], X[1, :2]], np.int64(1)]),
        ("g (float[N,4] x) => (float[N,4] y) { y = Identity(x) }", [X]),
    ],
)
def test_it_answers_as_compiled_code(text: str, inputs: list[object]) -> None:
    first, full = both(text, *inputs)
    for a, b in zip(first, full, strict=True):
        assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
        assert a.flags.c_contiguous and a.flags.writeable
        assert not any(np.shares_memory(a, x) for x in inputs if isinstance(x, np.ndarray))


@pytest.mark.parametrize(
    ("text", "inputs", "code"),
    [
        (TWO, [X[0], X[0, :3]], "shape-mismatch"),
        (TWO, [X, X[0]], "shape-mismatch"),
        (TWO, [X[0], X[0].astype(np.float64)], "type-mismatch"),
        (TWO, [X[0], "text"], "type-mismatch"),
        (GATHER, [X[:, :3], ints(0)], "shape-mismatch"),
        (GATHER, [X, ints(0, 3)], "index-out-of-range"),
        (GATHER, [X, ints(-4, 7)], "index-out-of-range"),
        (GATHER_ND, [X, ints(0, 0, 2, 4).reshape(2, 2)], "index-out-of-range"),
        (SCAN, [X, np.int64(2)], "index-out-of-range"),
        (SIZE, [ints(-1)], "bad-size"),
        (SIZE, [ints(1 << 60)], "bad-size"),
        (RESHAPE, [X, ints(2, 5)], "shape-mismatch"),
        (LIST, [X[0], np.int64(0)], "type-mismatch"),
        (LIST, [[X[0]], np.int64(5)], "host-failed"),
    ],
)
def test_it_refuses_as_compiled_code(text: str, inputs: list[object], code: str) -> None:
    with pytest.raises(StepwellError) as full:
        stepwell.compile(onnx_model(text), opt_level=0)(*inputs)
    with pytest.raises(StepwellError) as first:
        first_stage(text)(inputs, 1)
    assert full.value.code == code
    assert str(first.value) == str(full.value)


def test_calls_at_the_same_time_have_sizes_of_their_own() -> None:
    """Sizes that one call computes from its data are not those of another."""
    model = first_stage("g (float[N] x) => (int64[M,1] z) { i = NonZero(x) z = Transpose(i) }")
    inputs = [np.arange(n, dtype=np.float32) for n in range(2, 300)]
    with ThreadPoolExecutor(8) as pool:
        for n, (outcome,) in zip(range(2, 300), pool.map(lambda x: model([x], 1), inputs), strict=True):
            np.testing.assert_array_equal(outcome, np.arange(1, n)[:, None])


def test_values_are_freed_after_their_last_use() -> None:
    import tracemalloc

    body = " ".join(f"x{i} = Relu(x{i - 1})" for i in range(1, 9))
    model = first_stage(f"g (float[N] x0) => (float[N] x8) {{ {body} }}")
    x = np.zeros(1 << 20, np.float32)
    tracemalloc.start()
    model([x], 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * x.nbytes


def test_options_of_level_1_and_of_inputs() -> None:
    model = onnx_model("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }").SerializeToString()
    first = FirstStage(model, CompileOptions(input_shapes={"x": (2, 4)}))
    with pytest.raises(StepwellError, match="dimension 0 must be 2, found 3"):
        first([X], 1)
    assert cast(Any, first.interface.inputs[0].dims[0]).value == 2


def test_weights_are_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them would take longer than mapping the file; two models have no name in common."""
    monkeypatch.setattr("stepwell.runtime.files.weights.content_hash", None)
    ramp = ", ".join(map(str, range(64)))
    text = f"g (float[N,64] x) => (float[N,64] y) <float[64] w = {{{ramp}}}> {{ y = Add(x, w) }}"
    first, second = first_stage(text), first_stage(text.replace("63}", "99}"))
    zeros = np.zeros((1, 64), np.float32)
    assert (first([zeros], 1)[0] == np.arange(64)).all()
    assert second([zeros], 1)[0][0, -1] == 99


def test_a_broken_pass_leaves_a_reproducer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is read again for it: no copy is made before."""

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    monkeypatch.setattr(ConvertOnnxToGraphPass, "apply", broken)
    ramp = ", ".join(map(str, range(64)))
    with pytest.raises(InternalError, match="stepwell-opt"):
        first_stage(f"g (float[N,64] x) => (float[N,64] y) <float[64] w = {{{ramp}}}> {{ y = Add(x, w) }}")
    (text,) = tmp_path.rglob("*.mlir")
    assert '"onnx.Add"' in text.read_text() and text.with_suffix(".weights").exists()
