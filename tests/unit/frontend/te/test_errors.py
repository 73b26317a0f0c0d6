"""Errors of formulas: each names the user's line, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from stepwell import StepwellError, te

N = te.var("n")
A = te.placeholder((8,), name="A")
B = te.placeholder((N,), name="B")
C = te.placeholder((8, 4), name="C")
IDX = te.placeholder((8,), "int64", name="idx")
R = te.reduce_axis((0, 4), name="r")
MINUS = te.reducer(lambda x, y: x - y, lambda t: 0, name="minus")
MEAN = te.reducer(lambda x, y: (x + y) / 2, lambda t: 0, name="mean")
ZERO = te.reducer(lambda x, y: x * y, lambda t: 0, name="product")
PAIR = te.reducer(lambda x, y: x[0] + y[0], lambda s, t: (0, 0), name="pair")

CASES: dict[str, tuple[Callable[[], object], str, str]] = {
    "above": (
        lambda: te.compute((8,), lambda i: A[i + 1]),
        "te-bounds",
        "`A[i + 1]`: i + 1 reaches 8 at i = 7, the extent is 8",
    ),
    "below": (lambda: te.compute((8,), lambda i: A[i - 1]), "te-bounds", "i - 1 reaches -1 at i = 0"),
    "symbolic": (lambda: te.compute((N,), lambda i: B[i + 1]), "te-bounds", "reaches n at i = n - 1"),
    "twice": (lambda: te.compute((5,), lambda i: A[2 * i]), "te-bounds", "2 * i reaches 8 at i = 4"),
    "data": (lambda: te.compute((8,), lambda i: A[IDX[i]]), "te-bounds", "nothing bounds the index `idx[i]`"),
    "condition": (
        lambda: te.compute((8,), lambda i: te.if_then_else(A[i + 1] > 0, A[i], 0)),
        "te-bounds",
        "i + 1 reaches 8",
    ),
    "select": (lambda: te.compute((9,), lambda i: te.select(i < 8, A[i], 0)), "te-bounds", "i reaches 8"),
    "rank": (lambda: te.compute((8,), lambda i: A[i, i]), "te-bounds", "A has 1 dimensions, found 2 indices"),
    "inside": (
        lambda: te.compute((8,), lambda i: te.sum(C[i, R], axis=R) + 1),
        "te-reduction",
        "te.sum stands alone in a formula",
    ),
    "argument": (
        lambda: te.compute((8,), lambda i: te.exp(cast("Any", te.max(C[i, R], axis=R)))),
        "te-reduction",
        "te.max stands alone",
    ),
    "axis": (lambda: te.compute((8,), lambda i: te.sum(A[i], axis=i)), "te-reduction", "found i"),
    "twice_over": (
        lambda: te.compute((8,), lambda i: te.sum(C[i, R], axis=[R, R])),
        "te-reduction",
        "each once",
    ),
    "lonely_init": (
        lambda: te.compute((8,), lambda i: A[i], init=lambda i: 0),
        "te-reduction",
        "only a reduction starts from `init`",
    ),
    "truth": (lambda: te.compute((8,), lambda i: A[i] if A[i] > 0 else 0), "te-type", "has no truth value"),
    "tensor": (lambda: te.compute((8,), lambda i: A[i] + C), "te-type", "one element is C[i, j]"),
    "mixed": (lambda: te.compute((8,), lambda i: A[i] + IDX[i]), "te-type", "float32 (`A[i]`) and int64"),
    "quotient": (lambda: te.compute((8,), lambda i: IDX[i] / 2), "te-type", "`/` divides floats"),
    "half": (lambda: te.compute((8,), lambda i: IDX[i] * 0.5), "te-type", "0.5 is no int64"),
    "function": (lambda: te.compute((8,), lambda i: te.exp(IDX[i])), "te-type", "is a function of floats"),
    "index": (lambda: te.compute((8,), lambda i: A[A[i]]), "te-type", "an index is an integer"),
    "axes": (lambda: te.compute((8, 2), lambda i: A[i]), "te-type", "2 dimensions, and the formula 1 axes"),
    "text": (lambda: te.compute((8,), lambda i: "x"), "te-type", "a formula has no str"),
    "nothing": (lambda: te.compute((8,), lambda i: None), "te-type", "a formula has no NoneType"),
    "negative": (lambda: te.placeholder((-1,)), "te-type", "a size is not negative, found -1"),
    "dtype": (lambda: te.placeholder((1,), "float31"), "te-type", "there is no element type 'float31'"),
    "complex": (lambda: te.placeholder((1,), "complex64"), "te-type", "no complex numbers"),
    "name": (lambda: te.var("2n"), "te-type", "an identifier"),
    "order": (
        lambda: te.compute((8,), lambda i: MINUS(C[i, R], axis=R)),
        "te-reducer",
        "minus is not associative: f(f(x, y), z) is",
    ),
    "average": (lambda: te.compute((8,), lambda i: MEAN(C[i, R], axis=R)), "te-reducer", "not associative"),
    "identity": (
        lambda: te.compute((8,), lambda i: ZERO(C[i, R], axis=R)),
        "te-reducer",
        "with that identity: f(identity, x) is 0",
    ),
    "count": (
        lambda: te.compute((8,), lambda i: PAIR((C[i, R], C[i, R]), axis=R)),
        "te-reducer",
        "combines 2 numbers, and gives 1",
    ),
    "unknown_size": (
        lambda: te.lower([A], te.compute((N,), lambda i: te.cast(i, "float32"))),
        "te-operator",
        "needs the size n, which no input has",
    ),
    "not_given": (
        lambda: te.lower([A], te.compute((N,), lambda i: B[i])),
        "te-operator",
        "B is an input that the formula reads",
    ),
    "computed": (
        lambda: te.lower([te.compute((8,), lambda i: A[i], name="c")], A),
        "te-operator",
        "and c is computed",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_error_names_the_line(case: str) -> None:
    make, code, text = CASES[case]
    with pytest.raises(StepwellError) as caught:
        make()
    assert caught.value.code == code
    assert text in caught.value.message
    file, _, line = caught.value.where.rpartition(":")
    first = make.__code__.co_firstlineno
    assert file == __file__
    assert first <= int(line) <= first + 4 or int(line) < 30


def test_assumed_reducer_is_not_tested() -> None:
    minus = te.reducer(lambda x, y: x - y, lambda t: 0, name="minus", assume=True)
    made = te.compute((8,), lambda i: minus(C[i, R], axis=R))
    assert made.dims[0] == 8


FIVE, HALVES = te.placeholder((5,), name="five"), te.placeholder(((N + 1) // 2,), name="halves")
LONG = te.placeholder((256,), name="long")
INSIDE: dict[str, Callable[[], te.Tensor]] = {
    "digits": lambda: te.compute((8,), lambda i: A[i // 4 * 4 + i % 4]),
    "permuted": lambda: te.compute((8,), lambda i: A[i * 3 % 8]),
    "chosen": lambda: te.compute((9,), lambda i: A[te.select(i < 8, i, 0)]),
    "clipped": lambda: te.compute((20,), lambda i: A[te.minimum(i, 7)]),
    "rest of data": lambda: te.compute((8,), lambda i: A[IDX[i] % 8]),
    "halved": lambda: te.compute((N,), lambda i: HALVES[i // 2]),
    "rotated": lambda: te.compute((N,), lambda i: B[(i + 3) % N]),
    "reversed": lambda: te.compute((N,), lambda i: B[N - 1 - i]),
    "squared": lambda: te.compute((3,), lambda i: A[i * i + 3]),
    "last": lambda: te.compute((N,), lambda i: B[N - 1]),
}


@pytest.mark.parametrize("name", INSIDE)
def test_indices_inside_are_proved(name: str) -> None:
    assert len(INSIDE[name]().dims) == 1


OUTSIDE: dict[str, tuple[Callable[[], object], str]] = {
    # Each with the value and a point of it; no other one is told.
    "permuted": (lambda: te.compute((8,), lambda i: FIVE[i * 3 % 8]), "i * 3 % 8 reaches 6 at i = 2"),
    "halved": (lambda: te.compute((N,), lambda i: HALVES[i // 2 + 1]), "reaches 1 at i = 0, n = 1"),
    "squared": (lambda: te.compute((4,), lambda i: A[i * i]), "i * i reaches 9 at i = 3"),
    "chosen": (lambda: te.compute((9,), lambda i: A[te.select(i < 5, i, 8)]), "reaches 8 at i = 5"),
    "clipped": (lambda: te.compute((20,), lambda i: A[te.minimum(i, 8)]), "reaches 8 at i = 8"),
    "rest of data": (lambda: te.compute((8,), lambda i: A[IDX[i] % 9]), "`idx[i] % 9` is not provably"),
    # 200 as int8 is -56.
    "narrow": (
        lambda: te.compute((256,), lambda i: LONG[te.cast(te.cast(i, "int8"), "int64")]),
        "nothing bounds",
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_indices_outside_have_a_point(name: str) -> None:
    formula, message = OUTSIDE[name]
    with pytest.raises(StepwellError) as error:
        formula()
    assert error.value.code == "te-bounds"
    assert message in error.value.message


def test_a_checked_read_is_no_side_of_a_condition() -> None:
    with pytest.raises(StepwellError, match=r"te.checked\(A\[idx\[i\]\]\) is on one side"):
        te.compute((8,), lambda i: te.if_then_else(i < 4, te.checked(A[IDX[i]]), 0.0))
    with pytest.raises(StepwellError, match="te.checked is for an element of a tensor"):
        te.checked(te.exp(te.cast(1, "float32")))


def test_numbers_of_numpy_are_numbers() -> None:
    made = te.compute((8,), lambda i: np.float32(2) * A[i] - A[i] / np.float32(4) + np.float32(1))
    values = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(te.interpret([A], made, values)[0], values * 1.75 + 1)
    made = te.compute((8,), lambda i: A[i] * np.float64(2) + np.float64(2) * A[i] - np.int64(1))
    np.testing.assert_array_equal(te.interpret([A], made, values)[0], values * 4 - 1)
    with pytest.raises(StepwellError, match=r"0.5 is no int64, which `idx\[i\]` is"):
        te.compute((8,), lambda i: IDX[i] * np.float32(0.5))


@pytest.mark.parametrize(
    ("formula", "message", "help"),
    [
        (lambda i: np.exp(A[i]), "numpy's exp is of arrays", "te.exp is of expressions"),
        (lambda i: np.arcsin(A[i]), "numpy's arcsin", "te.asin"),
        (lambda i: np.hypot(A[i], 1.0), "numpy's hypot", "te.placeholder"),
        (lambda i: np.ones(3) * A[i], "numpy's multiply", "te.placeholder"),
        (lambda i: A[i] * np.ones(3), "a formula has no ndarray", "te.placeholder"),
        (lambda i: [1.0, 2.0][i], "`i` is known at each point only", "te.placeholder"),
    ],
)
def test_functions_and_lists_of_python_are_reported(formula: Any, message: str, help: str) -> None:
    with pytest.raises(StepwellError) as error:
        te.compute((8,), formula)
    assert error.value.code == "te-type"
    assert message in error.value.message
    assert help in (error.value.help or "")
