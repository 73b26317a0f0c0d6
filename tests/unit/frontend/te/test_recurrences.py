"""Scans and extern tensors: recurrences against numpy, loop scripts and Python functions as stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError, te
from stepwell.script import script

DRAW = np.random.default_rng(13)
Array = np.ndarray[Any, Any]
Inputs = list[te.Tensor]


def prefix(length: int | str, dtype: str = "float32") -> tuple[Inputs, te.Tensor]:
    x, s = te.placeholder((length, 5), dtype, name="x"), te.placeholder((length, 5), dtype, name="s")
    first = te.compute(
        (1, 5), lambda t, i: te.if_then_else(t < x.shape[0], x[0, i], te.cast(0, dtype)), "first"
    )
    return [x], te.scan(first, lambda t, i: s[t - 1, i] + x[t, i], s)


def both(inputs: Inputs, y: Any, *arrays: Array) -> Array:
    """The interpreter's result on level 2, which that of level 1 must be."""
    low: Any = te.interpret(inputs, y, *arrays)[0]
    high: Any = te.lower(inputs, y, "graph").interpret(*arrays)
    np.testing.assert_array_equal(high[0] if isinstance(high, list) else high, low)
    return low


def test_a_prefix_sum_is_one_kernel() -> None:
    inputs, y = prefix(7)
    x = DRAW.standard_normal((7, 5), np.float32)
    np.testing.assert_allclose(both(inputs, y, x), np.cumsum(x, 0), rtol=1e-6)
    model = te.build(inputs, y, threads=1)
    assert list(model.kernels) == ["k0"]
    found: Any = model(x)
    np.testing.assert_allclose(found, np.cumsum(x, 0), rtol=1e-6)


def test_a_prefix_sum_of_any_length_is_compiled_once() -> None:
    inputs, y = prefix("n")
    model = te.build(inputs, y, threads=1)
    for length in (0, 1, 2, 9):
        x = DRAW.standard_normal((length, 5), np.float32)
        found: Any = model(x)
        np.testing.assert_allclose(found, np.cumsum(x, 0), rtol=1e-6)


def test_unsigned_numbers_wrap() -> None:
    inputs, y = prefix(6, "uint8")
    x = DRAW.integers(0, 256, (6, 5)).astype(np.uint8)
    np.testing.assert_array_equal(both(inputs, y, x), np.cumsum(x, 0, dtype=np.uint8))


def test_rows_of_several_steps_with_sums() -> None:
    x, w = te.placeholder((6, 4), name="x"), te.placeholder((4, 4), name="w")
    h, r = te.placeholder((7, 4), name="h"), te.reduce_axis((0, 4), "r")
    zero = te.compute((1, 4), lambda t, i: te.cast(0, "float32"), "zero")

    def step(t: te.Axis) -> te.Tensor:
        s = te.compute((4,), lambda i: te.sum(w[i, r] * h[t - 1, r], axis=r), "s")
        return te.compute((4,), lambda i: te.tanh(s[i] + x[t - 1, i]), "row")

    y = te.scan(zero, step, h)
    a, b = DRAW.standard_normal((6, 4), np.float32), DRAW.standard_normal((4, 4), np.float32)
    wanted = np.zeros((7, 4), np.float32)
    for t in range(1, 7):
        wanted[t] = np.tanh(b @ wanted[t - 1] + a[t - 1])
    np.testing.assert_allclose(both([x, w], y, a, b), wanted, rtol=1e-5, atol=1e-6)


def test_two_states_and_rows_two_before() -> None:
    a, b = te.placeholder((8,), "int64", name="a"), te.placeholder((8,), "int64", name="b")
    x = te.placeholder((2,), "int64", name="x")
    one, two = te.compute((2,), lambda i: x[i], "one"), te.compute((2,), lambda i: x[i] * 2, "two")
    y, z = te.scan([one, two], lambda t: (a[t - 1] + a[t - 2], b[t - 1] + a[t - 1]), [a, b])
    fib, sums = [1, 2], [2, 4]
    for _ in range(6):
        sums.append(sums[-1] + fib[-1])
        fib.append(fib[-1] + fib[-2])
    found = te.interpret([x], [y, z], np.array([1, 2]))
    np.testing.assert_array_equal(found, [fib, sums])
    more = te.compute((8,), lambda i: y[i] - z[i], "more")
    np.testing.assert_array_equal(te.interpret([x], more, np.array([1, 2]))[0], np.subtract(fib, sums))


def test_recurrences_that_are_none() -> None:
    x, s = te.placeholder((7, 5), name="x"), te.placeholder((7, 5), name="s")
    first = te.compute((1, 5), lambda t, i: x[t, i], "first")
    for update, code, reason in (
        (lambda t, i: s[t, i] + 1.0, "te-bounds", r"row t of the state is not provably before row t"),
        (lambda t, i: s[t - 2, i] + 1.0, "te-bounds", r"t - 2 reaches -1 at t = 1"),
        (lambda t, i: te.clamped(s[t - 1, i]), "te-bounds", "is not provably before"),
        (lambda t, i: te.cast(t, "float64"), "te-operator", r"a row of .* is no"),
        (lambda t: 3.0, "te-operator", "returns 1 rows for 1 states"),
    ):
        with pytest.raises(StepwellError, match=reason) as error:
            te.scan(first, update, s)
        assert error.value.code == code
    wide = te.compute((1, 6), lambda t, i: te.cast(i, "float32"), "wide")
    with pytest.raises(StepwellError, match="the rows of .* are not those of"):
        te.scan(wide, lambda t, i: s[t - 1, i], s)
    with pytest.raises(StepwellError, match="the state first is a te.placeholder"):
        te.scan(first, lambda t, i: first[0, i], first)


ROLL = """
def roll(x: Buffer["N", 4, "f32"], y: Out["N", 4, "f32"]):
    for i in range(x.shape[0]):
        for j in range(4):
            y[i, (j + 1) % 4] = x[i, j]
"""


@pytest.mark.parametrize("length", [3, "n"])
def test_a_loop_script_between_formulas(length: int | str) -> None:
    x = te.placeholder((length, 4), name="x")
    twice = te.compute((length, 4), lambda i, j: x[i, j] * 2.0, "twice")
    rolled = te.extern((length, 4), [twice], script(ROLL))
    y = te.compute((length, 4), lambda i, j: rolled[i, j] + 1.0, "y")
    data = DRAW.standard_normal((3, 4), np.float32)
    np.testing.assert_array_equal(both([x], y, data), np.roll(data * 2, 1, axis=1) + 1)


def flipped(x: Array, k: Array) -> Array:
    return np.ascontiguousarray(x[::-1]) + k.astype(np.float32)


def test_a_python_function_between_kernels() -> None:
    x, k = te.placeholder(("n", 4), name="x"), te.placeholder((4,), "int32", name="k")
    y = te.extern(("n", 4), [x, k], flipped)
    z = te.compute(("n", 4), lambda i, j: y[i, j] * 2.0, "z")
    data, other = DRAW.standard_normal((3, 4), np.float32), np.arange(4, dtype=np.int32)
    wanted = flipped(data, other) * 2
    np.testing.assert_array_equal(both([x, k], z, data, other), wanted)
    found: Any = te.build([x, k], z, threads=1)(data, other)
    np.testing.assert_array_equal(found, wanted)


def test_extern_tensors_that_are_none() -> None:
    x = te.placeholder((3, 5), name="x")
    with pytest.raises(StepwellError, match=r"x: Nx4 float32> of roll is no <te.Tensor x: 3x5") as error:
        te.extern(None, [x], script(ROLL))
    assert error.value.code == "te-type"
    y = te.placeholder((3, 4), name="y")
    with pytest.raises(StepwellError, match="the results of roll are 3x4"):
        te.extern((3, 5), [y], script(ROLL))
    with pytest.raises(StepwellError, match="roll takes x, found 2 tensors"):
        te.extern(None, [y, y], script(ROLL))
    with pytest.raises(StepwellError, match="the results of a function have shapes"):
        te.extern(None, [y], flipped)
    wrong = te.extern((3, 4), [y], lambda a: a.astype(np.float64), name="wrong")
    model = te.build([y], wrong, threads=1)
    with pytest.raises(StepwellError, match="result 0 must be of float32, found float64"):
        model(np.zeros((3, 4), np.float32))
