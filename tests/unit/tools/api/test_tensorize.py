"""Tiles replaced by intrinsics: worked case 16, built-in intrinsics, those of users, refusals with names."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError, te
from stepwell.script import Script, script
from tests.support.samples import repetitions
from tests.unit.tools.api.schedule_kernels import product

DRAW = np.random.default_rng(16)
Inputs = list[te.Tensor]


def bytes_product(m: int, n: int, k: int) -> tuple[Inputs, te.Tensor]:
    a, b = te.placeholder((m, k), "uint8", name="A"), te.placeholder((n, k), "int8", name="B")
    r = te.reduce_axis((0, k), name="r")

    def summed(i: te.Axis, j: te.Axis) -> Any:
        return te.sum(te.cast(a[i, r], "int32") * te.cast(b[j, r], "int32"), axis=r)

    return [a, b], te.compute((m, n), summed, name="C")


def some_bytes(m: int, n: int, k: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return DRAW.integers(0, 256, (m, k)).astype(np.uint8), DRAW.integers(-128, 128, (n, k)).astype(np.int8)


def wide(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a.astype(np.int32) @ b.astype(np.int32).T


def test_a_dot_of_bytes() -> None:
    inputs, c = bytes_product(3, 5, 12)
    s = te.create_schedule(c, exact=True)
    i, _, r = s[c].loops
    _, inner = s[c].split(r, 4)
    s[c].parallel(i)
    s[c].tensorize(inner, "dot_bytes")
    assert "C" not in s.stages
    s.validate(n=1)
    again = te.Schedule.replay(te.lower(inputs, c), s.script)
    assert str(again.module) == str(te.lower(inputs, s))
    a, b = some_bytes(3, 5, 12)
    found: Any = te.build(inputs, s, threads=1)(a, b)
    np.testing.assert_array_equal(found, wide(a, b))


def test_rows_of_lanes() -> None:
    inputs, c = bytes_product(2, 16, 8)
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    (jo, ji), (ro, ri) = s[c].split(j, 8), s[c].split(r, 4)
    s[c].reorder(i, jo, ro, ri, ji)
    s[c].tensorize(ri, "dot_bytes.8")
    a, b = some_bytes(2, 16, 8)
    found: Any = te.build(inputs, s, threads=1)(a, b)
    np.testing.assert_array_equal(found, wide(a, b))


def test_a_dot_of_six_bytes_is_refused() -> None:
    _, c = bytes_product(3, 5, 12)
    s = te.create_schedule(c)
    _, inner = s[c].split(s[c].loops[2], 6)
    before = s.script
    with pytest.raises(StepwellError, match=r"loop r is 6 long, dot_bytes sums 4") as error:
        s[c].tensorize(inner, "dot_bytes")
    assert error.value.code == "illegal-schedule" and s.script == before
    assert error.value.message.startswith("tensorize(r.1)")


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_a_small_product(order: str) -> None:
    a, b = te.placeholder((8, 6), name="A"), te.placeholder((6, 16), name="B")
    r = te.reduce_axis((0, 6), name="r")

    def summed(i: te.Axis, j: te.Axis) -> Any:
        return te.sum(a[i, r] * b[r, j] if order == "AB" else b[r, j] * a[i, r], axis=r)

    c = te.compute((8, 16), summed, name="C")
    s = te.create_schedule(c)
    i, j, k = s[c].loops
    (io, ii), (jo, ji), (ko, ki) = s[c].split(i, 4), s[c].split(j, 8), s[c].split(k, 3)
    s[c].reorder(jo, io, ko, ii, ki, ji)
    s[c].parallel(jo, io)
    s[c].tensorize(ii, "fma.4x8x3")
    assert not s.exact
    x, y = DRAW.standard_normal((8, 6), np.float32), DRAW.standard_normal((6, 16), np.float32)
    found: Any = te.build([a, b], s, threads=1)(x, y)
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fma.4x16", "the tile has i of 8, j of 16, r of 6, summed; fma.4x16 has one of 4, one of 16"),
        ("fma.4x16x6", "loop i is 8 long, fma.4x16x6 computes 4"),
        ("dot_bytes", "the tile has i of 8, j of 16, r of 6, summed; dot_bytes has one of 4, summed"),
        ("dot_byte", "no intrinsic is named dot_byte"),
        ("fma.0", "no intrinsic is named fma.0"),
        ("fma.4096x4096x4096", "no intrinsic is named"),
        ('a" b', "no intrinsic is named"),
    ],
)
def test_refusals_name_loops(name: str, reason: str) -> None:
    _, c = product(8, 16, 6)
    s = te.create_schedule(c)
    loop = s[c].loops[0]
    with pytest.raises(StepwellError) as error:
        s[c].tensorize(loop, name)
    if '"' not in name:
        assert error.value.code == "illegal-schedule" and reason in error.value.message
    assert "tensorize" not in s.script


def test_decisions_about_replaced_loops_are_refused() -> None:
    _, c = product(8, 16, 6)
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    s[c].reorder(r, i, j)
    s[c].vectorize(j)
    with pytest.raises(StepwellError, match="loop j is vectorized, and the code of an intrinsic replaces it"):
        s[c].tensorize(i, "fma.8x16")


def test_tiles_with_a_rest_and_of_open_size_are_refused() -> None:
    _, c = bytes_product(3, 5, 10)
    s = te.create_schedule(c)
    _, inner = s[c].split(s[c].loops[2], 4)
    with pytest.raises(
        StepwellError, match="tiles of 4 leave 2 of the 10 iterations of loop r over"
    ) as error:
        s[c].tensorize(inner, "dot_bytes")
    assert "pad(r, 4)" in (error.value.help or "")
    x = te.placeholder((te.var("n"), 8), name="x")
    y = te.compute((te.var("n"), 8), lambda i, j: x[i, j] + 1.0, name="y")
    t = te.create_schedule(y)
    with pytest.raises(StepwellError, match="the extent of loop i is known at run time"):
        t[y].tensorize(t[y].loops[0], "fma.8")


TWICE = """
def code(x: Buffer[8, "f32"], y: Buffer[8, "f32"]):
    for i in range(8):
        y[i] = x[i] * {factor}
    return y
"""


def twice(code: Script | str) -> te.Intrinsic:
    x = te.placeholder((8,), name="x")
    return te.intrinsic("twice", [x], te.compute((8,), lambda i: 2.0 * x[i], name="y"), code)


@pytest.mark.parametrize("axis", [0, 1])
def test_an_intrinsic_of_a_user(axis: int) -> None:
    own = twice(script(TWICE.format(factor="2.0")))
    x = te.placeholder((16, 24), name="x")
    y = te.compute((16, 24), lambda i, j: x[i, j] * 2.0, name="y")
    s = te.create_schedule(y)
    outer, inner = s[y].split(s[y].loops[axis], 8)
    other = s[y].loops[2 if axis == 0 else 0]
    s[y].reorder(other, outer, inner)
    s[y].tensorize(inner, own)
    assert "sched.intrinsic @twice" in s.script
    s.validate(n=1)
    again = te.Schedule.replay(te.lower([x], y), s.script)
    assert again.script == s.script and str(again.module) == str(te.lower([x], s))
    data = DRAW.standard_normal((16, 24), np.float32)
    found: Any = te.build([x], s, threads=1)(data)
    np.testing.assert_array_equal(found, data * 2)
    s.undo()
    assert "intrinsic" not in s.script


def test_code_that_computes_something_else_is_refused() -> None:
    with pytest.raises(StepwellError, match=r"the code of twice computes .* at \[0\], the formula") as error:
        twice(script(TWICE.format(factor="3.0")))
    assert error.value.code == "te-intrinsic"
    with pytest.raises(StepwellError, match="the code of twice is .*tensor<9xf32>"):
        twice(script(TWICE.format(factor="2.0").replace("Buffer[8", "Buffer[9")))
    with pytest.raises(StepwellError, match="the code is one func.func, found 0"):
        twice("builtin.module {}")


def test_two_intrinsics_of_one_name() -> None:
    y = te.compute((8,), lambda i: te.cast(i, "float32"), name="y")
    s = te.create_schedule(y)
    s.declare(twice(script(TWICE.format(factor="2.0"))))
    with pytest.raises(StepwellError, match="another intrinsic that is named twice"):
        s.declare(te.Intrinsic("twice", "another one"))


def test_bodies_and_orders_of_dimensions_that_differ() -> None:
    own = twice(script(TWICE.format(factor="2.0")))
    x = te.placeholder((8,), name="x")
    for formula, reason in (
        (lambda i: x[i] + 2.0, "the body has arith.addf of f32 where twice has arith.mulf of f32"),
        (lambda i: x[i] * 3.0, "the body has the number 3.0.* where twice has the number 2.0"),
        (lambda i: te.if_then_else(i > 3, x[i], 1.0), "the body has arith.select of f32"),
    ):
        y = te.compute((8,), formula, name="y")
        s = te.create_schedule(y)
        with pytest.raises(StepwellError, match=reason):
            s[y].tensorize(s[y].loops[0], own)
    a, b, r = te.placeholder((4, 8), name="A"), te.placeholder((8, 3), name="B"), te.reduce_axis((0, 3), "r")
    c = te.compute((4, 8), lambda i, j: te.sum(a[i, j] * b[j, r], axis=r), name="C")
    t = te.create_schedule(c)
    with pytest.raises(StepwellError, match=r"the tile has \w\[.*\] where fma.4x8x3 has \w\["):
        t[c].tensorize(t[c].loops[0], "fma.4x8x3")


def test_random_tiles_keep_the_meaning() -> None:
    for seed in range(repetitions(12) // 3):
        random = Random(seed)
        rows, lanes, steps = random.choice([1, 2, 3]), random.choice([2, 4]), random.choice([1, 2])
        _, c = product(
            rows * random.randint(1, 2), lanes * random.randint(1, 3), steps * random.randint(1, 4)
        )
        s = te.create_schedule(c)
        pairs = [s[c].split(loop, n) for loop, n in zip(s[c].loops, (rows, lanes, steps), strict=True)]
        outer, inner = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        random.shuffle(outer)
        random.shuffle(inner)
        s[c].reorder(*outer, *inner)
        if outer[0].name.startswith("r"):
            s[c].unroll(outer[-1])
        else:
            s[c].parallel(outer[0])
        s[c].tensorize(inner[0], f"fma.{rows}x{lanes}x{steps}")
        s.validate(n=1, seed=seed)
        assert f"fma.{rows}x{lanes}x{steps}" in s.script
