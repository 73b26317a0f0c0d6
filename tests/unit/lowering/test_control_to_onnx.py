"""Control flow, checks and sizes from data as ONNX: ONNX Runtime computes the same from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import stepwell
from tests.onnx_models import onnx_model
from tests.support.onnx_runtime import reference_session

X = np.arange(6, dtype=np.float32)
CASES: Mapping[str, tuple[str, Sequence[Mapping[str, object]]]] = {
    "if": (
        """g (float[N] x, bool c) => (float[N] y) {
          y = If(c) <then_branch = a () => (float[N] p) { p = Neg(x) },
                     else_branch = b () => (float[N] q) { q = Identity(x) }>
        }""",
        [{"x": X, "c": np.array(True)}, {"x": X[:3], "c": np.array(False)}],
    ),
    "nested if": (
        """g (float[N] x, bool c) => (float[N] y) {
          d = Not(c)
          y = If(c) <then_branch = a () => (float[N] p) {
                       p = If(d) <then_branch = aa () => (float[N] r) { r = Abs(x) },
                                  else_branch = ab () => (float[N] s) { s = Neg(x) }> },
                     else_branch = b () => (float[N] q) { q = Exp(x) }>
        }""",
        [{"x": X, "c": np.array(True)}, {"x": X[:3], "c": np.array(False)}],
    ),
    "for": (
        """g (float[N] x, int64 n) => (float[N] y, float[K, N] z) {
          y, z = Loop(n, , x) <body = b (int64 i, bool t, float[N] a) => (bool u, float[N] c, float[N] d) {
            u = Identity(t) f = Cast<to = 1>(i) c = Add(a, f) d = Mul(c, c) }>
        }""",
        [{"x": X, "n": np.array(4)}, {"x": X[:2], "n": np.array(1)}],
    ),
    "while": (
        """g (float[N] x, float limit) => (float[N] y) <bool t = {1}> {
          y = Loop(, t, x) <body = b (int64 i, bool s, float[N] a) => (bool u, float[N] c) {
            c = Add(a, a) m = ReduceSum<keepdims = 0>(c) u = Less(m, limit) }>
        }""",
        [{"x": X, "limit": np.array(100, np.float32)}, {"x": -X, "limit": np.array(-200, np.float32)}],
    ),
    "a growing value": (
        """g (float[N] x, int64 n) => (float[M] y) {
          y = Loop(n, , x) <body = b (int64 i, bool t, float[M] a) => (bool u, float[M] c) {
            u = Identity(t) c = Concat<axis = 0>(a, x) }>
        }""",
        [{"x": X, "n": np.array(3)}, {"x": X[:1], "n": np.array(1)}],
    ),
    "sizes from data": (
        """g (float[N] x, int64[1] s) => (float[M] y) <float[1] v = {2}> {
          e = Expand(v, s) y = Concat<axis = 0>(e, x)
        }""",
        [{"x": X, "s": np.array([3])}, {"x": X[:2], "s": np.array([0])}],
    ),
    "a size from data that may be negative": (
        """g (float[N] x, int64[1] a, int64[1] b) => (float[M] y) { y = Slice(x, a, b) }""",
        [
            {"x": X, "a": np.array([-4]), "b": np.array([-1])},
            {"x": X, "a": np.array([1]), "b": np.array([9])},
        ],
    ),
}


def _results(model: onnx.ModelProto, feed: Mapping[str, object]) -> list[npt.NDArray[np.float32]]:
    return [
        np.asarray(each, np.float32)
        for each in reference_session(model, optimized=False).run(None, dict(feed))
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_a_written_model_computes_the_same(name: str) -> None:
    text, feeds = CASES[name]
    model = onnx_model(text)
    written = stepwell.read(model).to("graph").to_onnx()
    onnx.checker.check_model(written)
    for feed in feeds:
        for found, expected in zip(_results(written, feed), _results(model, feed), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
