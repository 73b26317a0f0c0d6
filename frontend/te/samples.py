"""Tests of a user's reducer with samples: associative, commutative, with an identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import erf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepwell.frontend.te.expressions import BOOL, Call, Dtype, Expr, Number, integer_range, is_float
from stepwell.frontend.te.places import FormulaError
from stepwell.runtime.interface import dtype_from_name

Array = npt.NDArray[Any]
SAMPLES = 200
TOLERANCE = 1e-3
"""The relative difference that the order of operations on floats may make."""


class Tried(NamedTuple):
    """A reducer that is tested: its name, the combination of two values, and the identity."""

    name: str
    combined: Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]]
    identity: Sequence[float]


class Sample(Expr):
    """A value that is drawn at random."""

    def __str__(self) -> str:
        return "x"


def expect_reducer(reducer: Tried, dtypes: Sequence[Dtype]) -> None:
    """Require a reducer to be what a reduction needs, on samples. Raises: StepwellError `te-reducer`."""
    draw = np.random.default_rng(0)
    xs, ys, zs = ([_drawn(dtype, draw) for dtype in dtypes] for _ in range(3))

    def combine(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
        return _combined(reducer, dtypes, a, b)

    pairs = zip(reducer.identity, dtypes, strict=True)
    start = [np.full(SAMPLES, number, dtype_from_name(dtype)) for number, dtype in pairs]
    with np.errstate(all="ignore"):
        left, right = combine(combine(xs, ys), zs), combine(xs, combine(ys, zs))
        _expect_same(reducer, "associative", "f(f(x, y), z)", left, "f(x, f(y, z))", right, (xs, ys, zs))
        _expect_same(reducer, "commutative", "f(x, y)", combine(xs, ys), "f(y, x)", combine(ys, xs), (xs, ys))
        what = "a reducer with that identity"
        _expect_same(reducer, what, "f(identity, x)", combine(start, xs), "x", xs, (xs,))


def _drawn(dtype: Dtype, draw: np.random.Generator) -> Array:
    if dtype == BOOL:
        return draw.integers(0, 2, SAMPLES).astype(bool)
    if is_float(dtype):
        return (4 * draw.standard_normal(SAMPLES)).astype(dtype_from_name(dtype))
    low, high = integer_range(dtype)
    return draw.integers(max(low, -20), min(high, 20), SAMPLES).astype(dtype)


def _combined(reducer: Tried, dtypes: Sequence[Dtype], a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    xs, ys = ([Sample(dtype) for dtype in dtypes] for _ in range(2))
    results = reducer.combined(xs, ys)
    known: dict[Expr, Array] = dict(zip([*xs, *ys], [*a, *b], strict=True))
    return [np.broadcast_to(value_of(result, known), SAMPLES) for result in results]


def _expect_same(
    reducer: Tried,
    what: str,
    left: str,
    a: Sequence[Array],
    right: str,
    b: Sequence[Array],
    operands: Sequence[Sequence[Array]],
) -> None:
    """Require two computations to agree at all samples. Raises: StepwellError `te-reducer`, with one."""
    wrong = np.zeros(SAMPLES, bool)
    for x, y in zip(a, b, strict=True):
        wrong |= _differ(x, y)
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    sample = ", ".join(f"{name} = {_shown(v, at)}" for name, v in zip("xyz", operands, strict=False))
    found = f"{left} is {_shown(a, at)} and {right} is {_shown(b, at)} for {sample}"
    raise FormulaError(
        "te-reducer",
        f"{reducer.name} is not {what}: {found}",
        help="a reduction may combine in any order; te.reducer(…, assume=True) keeps the order of the loop",
    )


def _differ(x: Array, y: Array) -> npt.NDArray[np.bool_]:
    if x.dtype.kind in "biu":
        return x != y
    a, b = x.astype(np.float64), y.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return ~same & ~(np.abs(a - b) <= TOLERANCE * np.maximum(1, np.maximum(np.abs(a), np.abs(b))))


def _shown(values: Sequence[Array], at: int) -> str:
    texts = [f"{value[at].item():.6g}" for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _quotient(a: Array, b: Array) -> Array:
    return np.trunc(a / b)


_NUMPY = (
    *("add", "subtract", "multiply", "divide", "minimum", "maximum", "absolute", "power", "isnan"),
    *("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("floor", "ceil", "trunc"),
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _NUMPY},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"negate": np.negative, "round": np.rint, "not_": np.logical_not, "all": np.logical_and},
    **{"any": np.logical_or, "select": np.where, "if_then_else": np.where},
    **{"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal},
    **{"eq": np.equal, "ne": np.not_equal, "floordiv": np.floor_divide, "floormod": np.mod},
    **{"rsqrt": _rsqrt, "sigmoid": _sigmoid, "truncdiv": _quotient, "truncmod": np.fmod},
    "erf": np.vectorize(erf, otypes=[float]),
}


def value_of(expr: Expr, known: Mapping[Expr, Array]) -> Array:
    """The value of an expression in numpy."""
    if (value := known.get(expr)) is not None:
        return value
    dtype = dtype_from_name(expr.dtype)
    if isinstance(expr, Number):
        return np.array(expr.value, dtype)
    parts = [value_of(part, known) for part in expr.parts]
    if not isinstance(expr, Call) or expr.op not in {*_FUNCTIONS, "cast"}:
        raise FormulaError("te-reducer", f"a reducer combines its operands alone, found `{expr}`")
    return np.asarray(parts[0] if expr.op == "cast" else _FUNCTIONS[expr.op](*parts)).astype(dtype)
