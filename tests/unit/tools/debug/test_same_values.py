"""Values that are another one of the model, or a constant, stay when passes remove their nodes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import stepwell
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import RewriteCounts
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import relative_difference
from stepwell.tools.debug.references import with_outputs
from stepwell.tools.debug.session import DebugSession
from tests.onnx_models import onnx_model

LEVELS = pytest.mark.parametrize("opt_level", [0, 2])
X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
REPEATED = onnx_model(
    """g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) <float[3] w = {7, 8, 9}> {
      of_input = Identity (x)
      of_weight = Identity (w)
      again = Identity (of_weight)
      sum = Add (of_input, again)
      of_sum = Identity (sum)
      same_type = Cast <to = 1> (of_sum)
      y = Tanh (same_type)
      z = Identity (x)
    }"""
)
CONSTANTS = onnx_model(
    """g (float[N, 6] x) => (float[N, 2, 3] y)
    <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2},
     float[6] w = {1, 2, 3, 4, 5, 6}, float[6] v = {6, 5, 4, 3, 2, 1}> {
      shape = Shape (x)
      width = Gather (shape, one)
      half = Div (width, two)
      minus = Sub (zero, one)
      target = Concat <axis = 0> (minus, two, half)
      product = Mul (w, v)
      root = Sqrt (product)
      scale = Add (root, v)
      scaled = Mul (x, scale)
      y = Reshape (scaled, target)
    }"""
)


def close(found: Array, wanted: object) -> None:
    """Require an array to be almost equal to another one, of the same shape and type."""
    array = np.asarray(wanted)
    assert found.shape == array.shape and found.dtype == array.dtype
    assert relative_difference(found, array) <= 1e-5


def hows(session: DebugSession) -> dict[str, str]:
    return {value.name: value.how for value in session.values()}


@LEVELS
def test_a_repeated_value_is_what_it_repeats(opt_level: int) -> None:
    session = stepwell.debug(REPEATED, opt_level=opt_level)
    found = hows(session)
    assert [found[name] for name in ("of_input", "z")] == ["input"] * 2
    assert [found[name] for name in ("w", "of_weight", "again")] == ["weight"] * 3
    assert found["of_sum"] == found["same_type"] == found["sum"] in ("computed", "observed")
    assert {v.name: v.shape for v in session.values()}["same_type"] == (2, 3)
    session.run({"x": X})
    w = np.array([7, 8, 9], np.float32)
    for name, wanted in {"of_input": X, "z": X, "again": w, "of_sum": X + w, "same_type": X + w}.items():
        np.testing.assert_array_equal(session.get(name), wanted)
        assert session.get(name).dtype == np.float32
    assert session.compare().first is None


def test_a_repeated_value_is_changed_with_what_it_repeats() -> None:
    session = stepwell.debug(REPEATED, opt_level=0)
    session.run({"x": X})
    session.set("same_type", X / 8)
    np.testing.assert_array_equal(session.get("sum"), X / 8)
    close(session.go_on()["y"], np.tanh(X / 8))
    with pytest.raises(StepwellError, match='"again" is a constant'):
        session.set("again", np.ones(3, np.float32))


@LEVELS
def test_constants_in_the_middle_have_their_arrays(opt_level: int) -> None:
    """Sizes that follow from types, and products of weights, of which the program has the last ones alone."""
    session = stepwell.debug(CONSTANTS, opt_level=opt_level)
    names = ["width", "half", "minus", "target", "product", "root", "scale"]
    found = hows(session)
    assert [found[name] for name in names] == ["weight"] * len(names)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    session.run({"x": x})
    reference = ReferenceEvaluator(with_outputs(CONSTANTS, names))
    for name, wanted in zip(names, reference.run(None, {"x": x}), strict=True):
        close(session.get(name), wanted)
    session.get("half")[:] = 99  # a copy
    assert session.get("half").tolist() == [3]
    node = next(value.node for value in session.values() if value.name == "half")
    with pytest.raises(StepwellError, match='"half" is a constant') as error:
        session.run_node(node)
    assert error.value.code == "no-value"


def test_a_repetition_of_a_folded_value_is_gone_with_it() -> None:
    model = onnx_model(
        """g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y)
        <float[1, 1, 1, 1] f = {3}, float[1] s = {2}, float[1] b = {1}, float[1] m = {0}, float[1] v = {1}> {
          conv = Conv (x, f)
          same = Identity (conv)
          y = BatchNormalization (same, s, b, m, v)
        }"""
    )
    notes = {value.name: value.note for value in stepwell.debug(model).values() if value.how == "gone"}
    assert set(notes) == {"conv", "same"}
    assert set(notes.values()) == {"folded into BatchNormalization#2 by fold-scale-axis"}


def test_a_branch_that_never_runs_says_so() -> None:
    model = onnx_model(
        """g (float[N, 4] x) => (float[N, 4] y) <int64[1] one = {1}, int64[1] four = {4}> {
          shape = Shape (x)
          width = Gather (shape, one)
          c = Equal (width, four)
          z = If (c) <
            then_branch = t () => (float[M, K] p) { l = Exp (x) p = Identity (l) },
            else_branch = e () => (float[M, K] q) { r = Neg (x) q = Mul (r, x) }>
          y = Neg (z)
        }"""
    )
    session = stepwell.debug(model, opt_level=0)
    notes = {value.name: value.note for value in session.values() if value.how == "gone"}
    assert notes.pop("shape").endswith("by dead-code-elimination")
    assert set(notes) == {"r", "q"}
    assert all(note.endswith("in a branch that never runs") for note in notes.values())
    x = X.ravel()[:4].reshape(1, 4)
    session.run({"x": x})
    for name in ("l", "p", "z"):
        close(session.get(name), np.exp(x))


def test_values_of_a_loop_are_repeated_in_each_iteration() -> None:
    model = onnx_model(
        """g (float[2] x, int64 n) => (float[2] y) <bool t = {1}> {
          y = Loop (n, t, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] s) {
            d = Identity (c)
            w = Add (v, v)
            s = Identity (w)
          }>
        }"""
    )
    session = stepwell.debug(model, opt_level=0)
    assert hows(session)["s"] == hows(session)["w"] != "gone"
    session.run({"x": np.array([1, 3], np.float32), "n": np.array(3)})
    assert session.get("s").tolist() == session.get("w").tolist() == [8, 24]
    session.iterate(0)
    assert session.get("s").tolist() == [2, 6]


def test_passes_on_the_copy_are_not_counted() -> None:
    counts = RewriteCounts()
    with PassContext(instruments=[counts]):
        session = stepwell.debug(REPEATED)
        before = {name: dict(rewrites) for name, rewrites in counts.counts.items()}
        assert before["convert-onnx-to-graph"]
        assert hows(session)["of_sum"] != "gone"
        assert {name: dict(rewrites) for name, rewrites in counts.counts.items()} == before
