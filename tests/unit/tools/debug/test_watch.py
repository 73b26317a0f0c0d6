"""Watching: the ops that make NaN and infinities, in kernels too."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import stepwell
from stepwell.runtime.errors import StepwellError
from tests.onnx_models import onnx_model


def test_a_maker_is_told_from_what_comes_after_it() -> None:
    session = stepwell.debug(
        onnx_model("g (float[4] x) => (float[4] y) { z = Sub (x, x) l = Log (z) e = Exp (l) y = Add (e, x) }")
    )
    session.run({"x": np.arange(4, dtype=np.float32)})
    (finding,) = session.watch()
    assert (finding.node, finding.value, finding.kind, finding.count) == ("Log#1", "l", "overflow", 4)
    assert finding.inputs == ((0.0, 0.0),)
    assert [f.node for f in session.watch("inf")] == ["Log#1"]


def test_a_maker_inside_of_a_kernel() -> None:
    session = stepwell.debug(
        onnx_model(
            "g (float[2, 3] x, float[2, 3] b) => (float[2, 3] y) {"
            " a = Abs (x) n = Neg (a) s = Sqrt (n) t = Tanh (s) u = Mul (t, b) y = Add (u, x) }"
        )
    )
    x = np.array([[0, 0, 0], [0, 1, 2]], np.float32)
    session.run({"x": x, "b": x})
    (finding,) = session.watch("nan")
    assert (finding.node, finding.kind, finding.index, finding.count) == ("Sqrt#2", "nan", (1, 1), 2)
    assert finding.kernel == "k0"
    assert next(v.how for v in session.values() if v.name == "s") == "computed"
    assert session.watched("nan").bearers == 3


@pytest.mark.parametrize("level", ["graph", "loops"])
def test_an_input_with_nan_is_a_finding(level: str) -> None:
    session = stepwell.debug(onnx_model("g (float[4] x) => (float[4] y) { e = Exp (x) y = Relu (e) }"))
    session.run({"x": np.array([1, np.nan, np.inf, 2], np.float32)})
    watched = session.watched(level=level)
    (finding,) = watched.findings
    assert str(finding) == 'nan: input "x": 1 (25.0%), the first at [1]'
    assert watched.bearers == (2 if level == "graph" else 0)


def test_an_infinite_mask_is_no_overflow() -> None:
    model = onnx_model(
        "g (float[2, 4, 4] q) => (float[2, 4, 4] y) {"
        " t = Transpose <perm = [0, 2, 1]> (q) a = MatMul (q, t) m = Add (a, mask) p = Softmax (m)"
        " y = MatMul (p, q) }"
    )
    mask = np.triu(np.full((4, 4), -np.inf, np.float32), 1)
    model.graph.initializer.append(
        helper.make_tensor("mask", TensorProto.FLOAT, [4, 4], mask.ravel().tolist())
    )
    session = stepwell.debug(model)
    session.run({"q": np.random.default_rng(0).standard_normal((2, 4, 4), np.float32)})
    assert session.watch() == []
    (finding,) = session.watch("inf")
    assert finding.value == "mask"


def test_an_overflow_of_f16() -> None:
    session = stepwell.debug(
        onnx_model(
            "g (float16[8] x) => (float16[8] y) <float large = {60000}, float small = {2}> {"
            " c = Cast <to = 10> (large) two = Cast <to = 10> (small) a = Mul (x, c)"
            " b = Mul (a, two) d = Relu (b) y = Add (d, x) }"
        ),
        opt_level=0,
    )
    session.run({"x": np.ones(8, np.float16)})
    assert [(f.node, f.kind) for f in session.watch()] == [("Mul#3", "overflow")]


def test_other_kinds() -> None:
    session = stepwell.debug(
        onnx_model("g (float[4] x) => (float[4] y) { a = Neg (x) r = Relu (a) y = Exp (x) }")
    )
    session.run({"x": np.array([1, 2, 3, 1e-39], np.float32)})
    assert session.watch("range=0:21") == []
    (finding,) = session.watch("range=0:5")
    assert (finding.node, finding.count, finding.index) == ("Exp#2", 2, (1,))
    dead = stepwell.debug(onnx_model("g (float[4] x) => (float[4] r) { a = Neg (x) r = Relu (a) }"))
    dead.run({"x": np.arange(1, 5, dtype=np.float32)})
    assert [(f.node, f.share) for f in dead.watch("zeros")] == [("Relu#1", 1.0)]
    dead.run({"x": np.full(4, 1e-39, np.float32)})
    assert [(f.value, f.op) for f in dead.watch("denormal")] == [("x", "input")]  # which the op keeps
    cast = stepwell.debug(
        onnx_model(
            "g (float[4] x) => (uint8[4] y) <float s = {1}, uint8 z = {0}> { y = QuantizeLinear (x, s, z) }"
        )
    )
    cast.run({"x": np.array([1, 2, 300, 400], np.float32)})
    assert [(f.kind, f.count) for f in cast.watch("saturated")] == [("saturated", 2)]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("foo", "it is nan, inf, overflow, denormal, zeros, saturated, range=LO:HI"),
        ("range=3", "range needs LO:HI"),
    ],
)
def test_unknown_kinds(kinds: str, message: str) -> None:
    session = stepwell.debug(onnx_model("g (float[4] x) => (float[4] y) { y = Relu (x) }"))
    session.run({"x": np.zeros(4, np.float32)})
    with pytest.raises(StepwellError) as error:
        session.watch(kinds)
    assert message in str(error.value) and error.value.code == "bad-option"


def test_sums_inside_of_loops_are_watched_on_levels_below() -> None:
    """The product's results are finite, and one of its partial sums is not."""
    session = stepwell.debug(
        onnx_model("g (float[1, 4] x, float[4, 1] w) => (float[1, 1] y) { y = MatMul (x, w) }")
    )
    large = np.array([[3e38, 3e38, -3e38, -3e38]], np.float32)
    session.run({"x": large, "w": np.ones((4, 1), np.float32)})
    found = session.watch("inf", level="loops")
    assert found and all(f.node == "MatMul#0" and f.kernel == "k0" for f in found)
    assert {f.op.partition(".")[0] for f in found} <= {"arith", "math", "vector"}
    with pytest.raises(StepwellError, match="does not run at level 'native'"):
        session.watch(level="native")
