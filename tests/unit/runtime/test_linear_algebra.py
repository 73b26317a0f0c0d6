"""Functions of the host for LAPACK's routines: the products of their results are their operands."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell.runtime import meaning
from stepwell.runtime.meaning.floats import Numbers

RNG = np.random.default_rng(0)
MATRICES = [RNG.normal(size=size) for size in ((4, 4), (2, 3, 3), (2, 2, 5, 3), (3, 5), (0, 0), (0, 3, 3))]
SQUARE = [each for each in MATRICES if each.shape[-1] == each.shape[-2]]


def evaluate(name: str, operands: list[Numbers], properties: dict[str, bool]) -> tuple[Numbers, ...]:
    return meaning.evaluate(name, operands, properties)


def turned(x: Numbers) -> Numbers:
    return np.swapaxes(x, -1, -2)


@pytest.mark.parametrize("x", MATRICES, ids=lambda x: str(x.shape))
def test_lu(x: Numbers) -> None:
    packed, pivots, info = evaluate("host.lu", [x], {})
    rows, columns = x.shape[-2:]
    steps = min(rows, columns)
    lower = np.tril(packed[..., :steps], -1) + np.eye(rows, steps)
    exchanged = x.copy()
    for at in np.ndindex(info.shape):
        for k, other in enumerate(pivots[at]):
            exchanged[at][[k, other - 1]] = exchanged[at][[other - 1, k]]
    assert np.allclose(lower @ np.triu(packed[..., :steps, :]), exchanged)
    assert not info.any() and pivots.dtype == info.dtype == np.int32


def test_lu_of_a_singular_matrix_names_the_first_column_without_a_pivot() -> None:
    x = np.array([[[1.0, 2, 3], [2, 4, 6], [1, 1, 1]], [[0, 0, 1], [0, 1, 0], [0, 2, 2]]])
    assert evaluate("host.lu", [x], {})[2].tolist() == [3, 1]


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solve(left: bool, lower: bool, transposed: bool, unit: bool) -> None:
    a, b = RNG.normal(size=(2, 4, 4)), RNG.normal(size=(2, 4, 4))
    given = {"left": left, "lower": lower, "transposed": transposed, "unit": unit}
    (x,) = evaluate("host.triangular_solve", [a, b], given)
    part = np.tril(a) if lower else np.triu(a)
    if unit:
        part[..., range(4), range(4)] = 1
    part = turned(part) if transposed else part
    assert np.allclose(part @ x if left else x @ part, b)


def test_a_zero_on_the_diagonal_gives_an_infinity() -> None:
    given = {"left": True, "lower": True, "transposed": False, "unit": False}
    (x,) = evaluate("host.triangular_solve", [np.array([[2.0, 0], [1, 0]]), np.array([[2.0], [3.0]])], given)
    assert x.tolist() == [[1.0], [float("inf")]]


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower: bool) -> None:
    half = RNG.normal(size=(2, 3, 3))
    x = half @ turned(half) + np.eye(3)
    other = np.triu(np.full((3, 3), 9.0), 1) if lower else np.tril(np.full((3, 3), 9.0), -1)
    read = np.tril(x) if lower else np.triu(x)
    made, info = evaluate("host.cholesky", [read + other], {"lower": lower})
    factor = np.tril(made) if lower else turned(np.triu(made))
    assert np.allclose(factor @ turned(factor), x) and not info.any()
    assert evaluate("host.cholesky", [-x], {"lower": lower})[1].tolist() == [1, 1]


@pytest.mark.parametrize("x", [each for each in MATRICES if each.size], ids=lambda x: str(x.shape))
def test_qr_and_the_product_of_its_reflections(x: Numbers) -> None:
    packed, factors, info = evaluate("host.qr", [x], {})
    rows, columns = x.shape[-2:]
    steps = min(rows, columns)
    q, _ = evaluate("host.householder_product", [packed[..., :steps], factors], {})
    assert np.allclose(q @ np.triu(packed[..., :steps, :]), x) and not info.any()
    assert np.allclose(turned(q) @ q, np.eye(steps))


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("x", [each for each in MATRICES if each.size], ids=lambda x: str(x.shape))
def test_svd(x: Numbers, full: bool) -> None:
    same, values, left, right, info = evaluate("host.svd", [x], {"full": full, "vectors": True})
    short = values.shape[-1]
    assert np.allclose(left[..., :short] * values[..., None, :] @ right[..., :short, :], x)
    assert same is x and not info.any() and left.shape[-1] == (x.shape[-2] if full else short)
    alone = evaluate("host.svd", [x], {"full": full, "vectors": False})
    assert np.allclose(alone[1], values) and alone[2].shape == left.shape


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("x", SQUARE, ids=lambda x: str(x.shape))
def test_eigh(x: Numbers, lower: bool) -> None:
    vectors, values, info = evaluate("host.eigh", [x], {"lower": lower})
    part = np.tril(x, -1) if lower else np.triu(x, 1)
    whole = part + turned(part) + x * np.eye(x.shape[-1])
    assert np.allclose(whole @ vectors, vectors * values[..., None, :]) and not info.any()


def test_a_matrix_with_nan_does_not_converge() -> None:
    x = np.full((2, 3, 3), np.nan)
    x[1] = np.eye(3)
    assert evaluate("host.svd", [x], {"full": True, "vectors": True})[4].tolist() == [1, 0]


def test_a_unit_diagonal_and_the_other_triangle_are_not_read() -> None:
    a = np.array([[np.nan, np.inf], [2, np.inf]], np.float32)
    options = {"left": True, "lower": True, "transposed": False, "unit": True}
    (found,) = evaluate("host.triangular_solve", [a, np.ones((2, 1), np.float32)], options)
    np.testing.assert_array_equal(found, [[1], [-1]])
