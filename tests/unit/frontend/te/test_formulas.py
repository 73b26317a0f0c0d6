"""Formulas against numpy: elementwise, reductions, stencils, gathers, tuples; compiled and interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell import te
from stepwell.runtime.errors import StepwellError
from tests.support.samples import whole

Array = npt.NDArray[Any]
DRAW = np.random.default_rng(5)


def drawn(*shape: int) -> Array:
    return DRAW.standard_normal(shape, dtype=np.float32)


def both(inputs: Sequence[te.Tensor], outputs: Any, *arrays: Array) -> list[Array]:
    """The results of a formula, interpreted on level 2, after they are found equal to the compiled ones."""
    interpreted = te.interpret(inputs, outputs, *arrays)
    compiled: Any = te.build(inputs, outputs, threads=1)(*arrays)
    for a, b in zip(interpreted, compiled if isinstance(compiled, tuple) else (compiled,), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return interpreted


def test_sum_of_vectors_of_any_length_is_compiled_once() -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    compiled = te.build([a, b], te.compute((n,), lambda i: a[i] + b[i]))
    for length in (0, 1, 1_000_003):
        x, y = drawn(length), drawn(length)
        np.testing.assert_array_equal(compiled(x, y), x + y)


@pytest.mark.sample(3)
@pytest.mark.parametrize("shape", [(17, 19, 23), (1, 1, 1), (5, 0, 3), (0, 4, 2)])
def test_product_of_odd_and_empty_matrices(shape: tuple[int, int, int]) -> None:
    m, k, n = (te.var(name) for name in "mkn")
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    x, y = drawn(shape[0], shape[1]), drawn(shape[1], shape[2])
    np.testing.assert_allclose(te.interpret([a, b], c, x, y)[0], x @ y, rtol=1e-5, atol=1e-5)
    if shape[0] == 17:
        compiled: Any = te.build([a, b], c)(x, y)
        np.testing.assert_allclose(compiled, x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_position_of_an_extremum_with_ties_and_nan(name: str) -> None:
    x = DRAW.integers(0, 4, (6, 9)).astype(np.float32)
    x[2, [3, 7]], x[3], x[4] = np.nan, -np.inf, np.inf
    a, r = te.placeholder((6, 9), name="a"), te.reduce_axis((0, 9), name="r")
    value, position = te.compute((6,), lambda i: getattr(te, name)(a[i, r], axis=r))
    extremum, place = both([a], [value, position], x)
    np.testing.assert_array_equal(place, getattr(np, name)(x, 1))
    np.testing.assert_array_equal(extremum, (np.max if name == "argmax" else np.min)(x, 1))


@pytest.mark.parametrize("length", [0, 1, 8])
def test_guarded_read_is_padding(length: int) -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    padded = te.compute((n + 2,), lambda i: te.if_then_else(te.all(i >= 1, i <= n), a[i - 1], 0))
    x = drawn(length)
    np.testing.assert_array_equal(both([a], padded, x)[0], np.pad(x, 1))
    text = str(te.lower([a], padded))
    assert "linalg.fill" in text and "tensor.insert_slice" in text and "linalg.generic" not in text


@pytest.mark.parametrize("side", ["before", "after", "strict", "two"])
def test_boxes_of_padding(side: str) -> None:
    a = te.placeholder((4, 3), name="a")
    condition, shape, pads = {
        "before": (lambda i, j: i >= 2, (6, 3), [(2, 0), (0, 0)]),
        "after": (lambda i, j: te.all(3 >= i, j < 3), (5, 4), [(0, 1), (0, 1)]),
        "strict": (lambda i, j: te.all(i > 1, i < 6), (7, 3), [(2, 1), (0, 0)]),
        "two": (lambda i, j: te.all(1 <= i, te.all(i <= 4, 2 <= j)), (6, 5), [(1, 1), (2, 0)]),
    }[side]
    low = [before for before, _ in pads]
    y = te.compute(shape, lambda i, j: te.if_then_else(condition(i, j), a[i - low[0], j - low[1]], 0.0))
    x = DRAW.standard_normal((4, 3)).astype(np.float32)
    np.testing.assert_array_equal(both([a], y, x)[0], np.pad(x, pads))
    assert "graph.pad" in str(te.lower([a], y, "graph"))


def test_conditions_that_are_no_box_stay() -> None:
    a = te.placeholder((4,), name="a")
    for condition, zero in (
        (lambda i: i >= 2, 0.0), (lambda i: te.all(i >= 1, i <= 3), 0.0),
        (lambda i: te.any(i >= 1, i <= 4), 0.0),
        (lambda i: te.all(i >= 1, i <= 4), 2.0), (lambda i: te.all(i >= 1, i <= 4, a[0] > 0.0), 0.0),
        (lambda i: te.all(i >= 1, i <= 4), -0.0),
    ):  # fmt: skip
        y = te.compute((6,), lambda i: te.if_then_else(condition(i), a[i - 1], zero))  # noqa: B023
        text = str(te.lower([a], y, "graph"))
        assert "graph.pad" not in text, text
        both([a], y, np.arange(1, 5, dtype=np.float32))


def test_stages_make_a_softmax() -> None:
    n = te.var("n")
    x, r, q = te.placeholder((n, 33), name="x"), te.reduce_axis((0, 33), "r"), te.reduce_axis((0, 33), "q")
    top = te.compute((n,), lambda i: te.max(x[i, r], axis=r), name="top")
    powers = te.compute((n, 33), lambda i, j: te.exp(x[i, j] - top[i]), name="powers")
    total = te.compute((n,), lambda i: te.sum(powers[i, q], axis=q), name="total")
    y = te.compute((n, 33), lambda i, j: powers[i, j] / total[i], name="y")
    a = drawn(7, 33)
    expected = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(both([x], y, a)[0], expected / expected.sum(1, keepdims=True), rtol=1e-5)


def test_complex_product_is_a_reduction_of_pairs() -> None:
    a, r = te.placeholder((4, 5, 2), name="a"), te.reduce_axis((0, 5), name="r")
    times = te.reducer(
        lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]), lambda s, t: (1, 0), name="times"
    )
    parts = te.compute((4,), lambda i: times((a[i, r, 0], a[i, r, 1]), axis=r))
    x = drawn(4, 5, 2)
    real, imaginary = both([a], parts, x)
    expected = (x[..., 0] + 1j * x[..., 1]).prod(1)
    np.testing.assert_allclose(real + 1j * imaginary, expected, rtol=1e-4)


def test_sum_leaves_out_points_and_starts_from_a_number() -> None:
    a, r = te.placeholder((3, 8), name="a"), te.reduce_axis((2, 7), name="r")
    total = te.compute(
        (3,), lambda i: te.sum(a[i, r], axis=r, where=r % 2 == 0), init=lambda i: te.cast(i, "float32")
    )
    x = drawn(3, 8)
    expected = x[:, [2, 4, 6]].sum(1) + np.arange(3)
    np.testing.assert_allclose(both([a], total, x)[0], expected, rtol=1e-5)


def test_blur_reads_its_neighbours() -> None:
    a = te.placeholder((10, 12), name="a")
    rows = te.compute((10, 10), lambda y, x: (a[y, x] + a[y, x + 1] + a[y, x + 2]) / 3, name="bx")
    both_ways = te.compute((8, 10), lambda y, x: (rows[y, x] + rows[y + 1, x] + rows[y + 2, x]) / 3)
    image = drawn(10, 12)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    np.testing.assert_allclose(both([a], both_ways, image)[0], windows.mean((2, 3)), rtol=1e-4, atol=1e-6)


def test_window_with_strides_is_a_pool() -> None:
    n = te.var("n")
    a, r = te.placeholder((2 * n + 1,), name="a"), te.reduce_axis((0, 3), name="r")
    b = te.placeholder((n,), name="b")
    y = te.compute((n,), lambda i: te.max(a[2 * i + r], axis=r), name="y")
    x = drawn(11)
    expected = np.lib.stride_tricks.sliding_window_view(x, 3)[::2].max(1)
    np.testing.assert_array_equal(both([a, b], y, x, drawn(5))[0], expected)


def test_gather_reads_the_nearest_element() -> None:
    n = te.var("n")
    a, at = te.placeholder((9, 4), name="a"), te.placeholder((n,), "int32", name="at")
    y = te.compute((n, 4), lambda i, j: te.clamped(a[at[i], j]))
    x, rows = drawn(9, 4), np.array([0, 8, -3, 40, 5], np.int32)
    np.testing.assert_array_equal(both([a, at], y, x, rows)[0], x[np.clip(rows, 0, 8)])


def test_slice_of_a_tensor_is_a_tensor() -> None:
    n = te.var("n")
    a = te.placeholder((n, 8), name="a")
    part = a[:, 1:7:2]
    y = te.compute(part.shape, lambda i, j: part[i, j] * 2)
    x = drawn(5, 8)
    np.testing.assert_array_equal(both([a], y, x)[0], x[:, 1:7:2] * 2)


def test_sum_of_half_floats_is_computed_in_float32() -> None:
    a, r = te.placeholder((2, 3000), "float16", name="a"), te.reduce_axis((0, 3000), name="r")
    x = np.full((2, 3000), 0.1, np.float16)
    wide = te.compute((2,), lambda i: te.sum(a[i, r], axis=r))
    (total,) = te.interpret([a], wide, x)
    np.testing.assert_allclose(total, x.astype(np.float64).sum(1), rtol=1e-3)
    assert total.dtype == np.float16


FLOATS: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "sin", "cos", "tanh", "floor", "ceil", "trunc")},
    **{name: getattr(np, name) for name in ("tan", "sinh", "cosh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("tan", "sinh")},
    "round": np.rint,
    "erf": np.vectorize(erf),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "abs": np.abs,
}
POSITIVE: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("log", "log1p", "sqrt")},
    "acosh": lambda x: np.arccosh(x + 1),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
BOUNDED: dict[str, Callable[[Array], Array]] = {
    f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tanh")
}


def test_functions_of_floats_have_the_meaning_of_numpy() -> None:
    x = np.concatenate([drawn(20), np.array([0, -0.0, 1.5, 2.5, -2.5], np.float32)])
    a, p, b = (te.placeholder((25,), name=name) for name in "apb")
    made: list[te.Tensor] = []
    expected: list[Array] = []
    positive, bounded = np.abs(x) + np.float32(0.1), np.tanh(x)
    for table, tensor, array in (FLOATS, a, x), (POSITIVE, p, positive), (BOUNDED, b, bounded):
        for name, function in table.items():
            shift = 1 if name == "acosh" else 0
            made.append(te.compute((25,), lambda i, f=name, t=tensor, s=shift: getattr(te, f)(t[i] + s)))
            expected.append(function(array))
    made.append(te.compute((25,), lambda i: te.power(p[i], b[i])))
    expected.append(positive**bounded)
    results = te.interpret([a, p, b], made, x, positive, bounded)
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_divisions_of_integers(dtype: str) -> None:
    x = np.array([7, 200, 0, 9, 13, 255, 1], np.uint8).astype(dtype)
    x = x if dtype == "uint8" else x - 100
    y = np.array([2, 3, 5, 0, 4, 7, 255], np.uint8).astype(dtype)
    y = y if dtype == "uint8" else np.where(y > 4, -y, y).astype(dtype)
    a, b = te.placeholder((7,), dtype, name="a"), te.placeholder((7,), dtype, name="b")
    names = ("floordiv", "floormod", "truncdiv", "truncmod")
    made = te.compute((7,), lambda i: tuple(getattr(te, name)(a[i], b[i]) for name in names))
    wide = np.where(y == 0, 1, y)
    quotients = [x // wide, np.mod(x, wide), np.trunc(x / wide).astype(dtype), np.fmod(x, wide)]
    for found, quotient in zip(both([a, b], made, x, y), quotients, strict=True):
        np.testing.assert_array_equal(found, np.where(y == 0, 0, quotient))


def test_conditions_and_conversions() -> None:
    a = te.placeholder((6,), name="a")
    x = np.array([1.7, -1.7, np.nan, 300, -np.inf, 0], np.float32)
    small = te.compute((6,), lambda i: te.cast(te.select(te.isnan(a[i]), 0, a[i]), "int32"))
    either = te.compute((6,), lambda i: te.any(a[i] > 1, te.not_(a[i] == a[i])))
    found, flags = both([a], [small, either], x)
    np.testing.assert_array_equal(found, np.array([1, -1, 0, 300, -(2**31), 0]))
    np.testing.assert_array_equal(flags, [True, False, True, True, False, False])


@whole
def test_text_of_a_formula_is_read_again() -> None:
    n = te.var("n")
    a, r = te.placeholder((n, 8), name="a"), te.reduce_axis((0, 8), name="r")
    y = te.compute((n,), lambda i: te.sum(te.if_then_else(i + r < n, a[i + r, r], 0), axis=r))
    module = te.lower([a], y, "graph")
    import stepwell

    again = stepwell.parse(str(module))
    assert str(again) == str(module)
    x = drawn(5, 8)
    expected = [sum(x[i + r, r] for r in range(8) if i + r < 5) for i in range(5)]
    compiled: Any = again.compile()(x)
    np.testing.assert_allclose(compiled, expected, rtol=1e-4, atol=1e-6)


def test_name_of_a_program_and_schedules_that_are_exact() -> None:
    a, r = te.placeholder((6, 8), name="a"), te.reduce_axis((0, 8), name="r")
    y = te.compute((6,), lambda i: te.sum(a[i, r], axis=r), name="y")
    module, x = te.lower([a], y, name="rows"), drawn(6, 8)
    assert "func.func @rows(" in str(module) and "@main" not in str(module)
    found: Any = module.interpret(x, function="rows")[0]
    np.testing.assert_allclose(found, x.sum(1), rtol=1e-5)
    with pytest.raises(StepwellError, match="name of a program must not be empty"):
        te.lower([a], y, name="")
    s = te.create_schedule(y)
    s[y].vectorize(s[y].loops[1])
    with pytest.raises(StepwellError, match="changes the order of additions"):
        te.build([a], s, exact=True)
    model = te.build([a], y, name="rows", exact=True, threads=1, profile=True)
    assert any("rows" in row.nodes for row in model.profile(x, runs=1))
