"""Loops padded to a multiple: results against numpy, sums of several combiners, refusals with names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError, te
from stepwell.passes import PassContext
from tests.unit.tools.api.schedule_kernels import pool, product

DRAW = np.random.default_rng(8)
Array = np.ndarray[Any, Any]


def result(inputs: list[te.Tensor], s: te.Schedule, *arrays: Array) -> Array:
    again = te.Schedule.replay(te.lower(inputs, s.outputs), s.script)
    assert str(again.module) == str(te.lower(inputs, s))
    found: Any = te.lower(inputs, s).interpret(*arrays)
    return np.asarray(found[0] if isinstance(found, list) else found)


def test_a_product_without_rests() -> None:
    inputs, c = product(17, 19, 23)
    s = te.create_schedule(c, exact=True)
    for axis, multiple in enumerate((4, 8, 5)):
        with PassContext() as context:
            loop = s[c].pad(s[c].loops[axis], multiple)
        messages = {remark.message for remark in context.remarks}
        assert any(f"of C is padded from {(17, 19, 23)[axis]} to" in message for message in messages)
        assert str(loop).startswith("ijr"[axis])
    assert "C" in s.stages
    for loop, factor in zip(s[c].loops, (4, 8, 5), strict=True):
        s[c].split(loop, factor)
    i, ii, j, ji, r, ri = s[c].loops
    s[c].reorder(i, j, r, ii, ri, ji)
    s[c].vectorize(ji)
    s[c].parallel(i)
    x, w = DRAW.standard_normal((17, 23), np.float32), DRAW.standard_normal((23, 19), np.float32)
    np.testing.assert_allclose(result(inputs, s, x, w), x @ w, rtol=1e-4, atol=1e-4)
    found: Any = te.build(inputs, s, threads=1)(x, w)
    np.testing.assert_allclose(found, x @ w, rtol=1e-4, atol=1e-4)


def test_a_padded_sum_is_tensorized() -> None:
    a, b, r = te.placeholder((3, 10), "uint8"), te.placeholder((5, 10), "int8"), te.reduce_axis((0, 10), "r")
    c = te.compute(
        (3, 5), lambda i, j: te.sum(te.cast(a[i, r], "int32") * te.cast(b[j, r], "int32"), axis=r), name="C"
    )
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(s[c].pad(s[c].loops[2], 4), 4)[1], "dot_bytes")
    x, w = DRAW.integers(0, 256, (3, 10)).astype(np.uint8), DRAW.integers(-128, 128, (5, 10)).astype(np.int8)
    wanted = x.astype(np.int32) @ w.astype(np.int32).T
    np.testing.assert_array_equal(result([a, b], s, x.view(np.int8), w), wanted)


@pytest.mark.sample(3)
@pytest.mark.parametrize("word", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("is_moved", [False, True])
def test_the_neutral_element_is_what_padding_adds(word: str, is_moved: bool) -> None:
    """A sum of `x[r] + 1` cannot have padding that adds 0: a condition leaves these steps out."""
    x, r = te.placeholder((3, 7), name="x"), te.reduce_axis((0, 7), "r")
    reduce: Any = getattr(te, word)
    y = te.compute((3,), lambda i: reduce(x[i, r] + 1.0 if is_moved else x[i, r], axis=r), name="y")
    s = te.create_schedule(y, exact=True)
    s[y].pad(s[y].loops[1], 4)
    assert ("arith.select" in str(s.module)) == is_moved
    data = DRAW.standard_normal((3, 7), np.float32)
    data[0, 3] = np.inf
    wanted = getattr(np, word)(data + 1 if is_moved else data, axis=1)
    np.testing.assert_allclose(result([x], s, data), wanted, rtol=1e-5)


def test_infinite_elements_meet_no_zero() -> None:
    """`x[r] * b` with an infinite b would be NaN for a zero of padding."""
    x, b, r = te.placeholder((7,), name="x"), te.placeholder((2,), name="b"), te.reduce_axis((0, 7), "r")
    y = te.compute((2,), lambda i: te.sum(x[r] * b[i], axis=r), name="y")
    s = te.create_schedule(y)
    s[y].pad(s[y].loops[1], 8)
    data = np.arange(1, 8, dtype=np.float32)
    np.testing.assert_array_equal(result([x, b], s, data, np.array([np.inf, 2], np.float32)), [np.inf, 56])


def test_windows_reach_further() -> None:
    inputs, y = pool()
    s = te.create_schedule(y)
    for axis, multiple in enumerate((3, 4, 2)):
        s[y].pad(s[y].loops[axis], multiple)
    x = DRAW.standard_normal((4, 12), np.float32)
    wanted = np.stack([x[:, 2 * j : 2 * j + 3].max(axis=1) for j in range(5)], axis=1)
    np.testing.assert_array_equal(result(inputs, s, x), wanted)


def test_a_multiple_changes_nothing() -> None:
    _, c = product(8, 6, 4)
    s = te.create_schedule(c)
    assert "sched.schedule" not in str(s.module)
    before = s[c].loops
    s[c].pad(before[0], 4)
    assert s[c].loops == before and "insert_slice" not in str(s.module)


def refused(y: te.Tensor, axis: int, multiple: int, reason: str) -> None:
    s = te.create_schedule(y)
    loop = s[y].loops[axis]
    before = s.script
    with pytest.raises(StepwellError, match=reason) as error:
        s[y].pad(loop, multiple)
    assert error.value.code == "illegal-schedule" and s.script == before


def test_refusals_name_loops_and_tensors() -> None:
    n = te.var("n")
    x, k = te.placeholder((8,), "int32", name="x"), te.placeholder((8,), "int32", name="k")
    f, r = te.placeholder((8,), name="f"), te.reduce_axis((0, 8), "r")
    o = te.placeholder((n,), name="o")
    moved = te.compute((8,), lambda i: te.clamped(f[x[i]]), name="y")
    refused(te.compute((8,), lambda i: f[i] * 2.0, name="y"), 0, 0, r"pad\(i\): .* positive number, found 0")
    refused(te.compute((8,), lambda i: f[i] * 2.0, name="y"), 0, 1 << 31, "positive number, found 2147483648")
    refused(te.compute((n,), lambda i: o[i] * 2.0, name="y"), 0, 4, "the extent of loop i is known at run")
    refused(
        te.compute((8,), lambda i: te.floordiv(x[i], k[i]), name="y"), 0, 3, "the body of y divides integers"
    )
    refused(moved, 0, 3, "the body of y reads elements at indices")
    position = te.compute((), lambda: te.argmax(f[r], axis=r), name="y")
    assert isinstance(position, tuple)
    t = te.create_schedule(list(position))
    with pytest.raises(StepwellError, match=r"pad\(r\): nothing known to be associative"):
        t["y"].pad(t["y"].loops[0], 3)
    wide = te.compute((8, 1 << 20), lambda i, j: f[i] + te.cast(j, "float32"), name="y")
    refused(wide, 0, (1 << 31) - 1, "would have 2251799812636672 elements")
    s = te.create_schedule(te.compute((8,), lambda i: f[i] * 2.0, name="y"))
    outer, _ = s["y"].split(s["y"].loops[0], 4)
    with pytest.raises(StepwellError, match="the loops of y have decisions already"):
        s["y"].pad(outer, 3)
