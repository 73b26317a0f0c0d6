"""Elementary functions of f32: the errors that are allowed, samples of all of f32, and errors of results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

_ERF = cast("Callable[[Doubles], Doubles]", np.vectorize(math.erf, otypes=[np.float64]))

# Function -> numpy's in f64, and the largest error that we allow in units in the last place.
FUNCTIONS: dict[str, tuple[Callable[[Doubles], Doubles], float]] = {
    "exp": (np.exp, 1.2),
    "exp2": (np.exp2, 1.1),
    "expm1": (np.expm1, 1.5),
    "log": (np.log, 1.0),
    "log2": (np.log2, 1.9),
    "log10": (np.log10, 2.0),
    "log1p": (np.log1p, 1.6),
    "tanh": (np.tanh, 2.8),
    "erf": (_ERF, 2.8),
    "sin": (np.sin, 1.6),
    "cos": (np.cos, 1.6),
    "tan": (np.tan, 3.5),
    "asin": (np.arcsin, 2.5),
    "acos": (np.arccos, 2.5),
    "atan": (np.arctan, 2.0),
    "sinh": (np.sinh, 3.5),
    "cosh": (np.cosh, 3.5),
    "asinh": (np.arcsinh, 3.5),
    "acosh": (np.arccosh, 3.5),
    "atanh": (np.arctanh, 3.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.6),
}


def samples() -> Floats:
    """Numbers from all of f32, more of them where functions turn, and the special ones."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 2**-126, 3.4e38, -3.4e38, 88.72283]
    special += [1.4091180562973022]  # log2 is off most here, 1.83 units, of all from 0.35 to 2.9
    special += [88.72284, -103.97, -87.3365, -104, 127.99999, 128, -149, -150, -126, 0.9, 4, -4, 9, -17.5]
    bits = np.arange(0, 1 << 32, 4999, dtype=np.uint64).astype(np.uint32)
    rng = np.random.default_rng(3)
    parts = [
        np.array(special, np.float32),
        bits.view(np.float32),
        rng.standard_normal(100_000).astype(np.float32),
        (rng.random(100_000) * 200 - 100).astype(np.float32),
        (1 + rng.standard_normal(50_000) * 1e-3).astype(np.float32),
    ]
    x = np.concatenate(parts)
    return np.concatenate([x, np.zeros(-len(x) % 16, np.float32)])


def errors_in_ulp(y: Floats, exact: Doubles) -> Doubles:
    """How far off results are, in units in the last place; infinite where NaN or infinity is wrong."""
    rounded = exact.astype(np.float32)
    ulp = np.spacing(np.abs(rounded)).astype(np.float64)
    error = np.abs(y.astype(np.float64) - exact) / ulp
    # Just below the overflow either the largest number or infinity is right.
    near_overflow = np.abs(exact) > float(np.finfo(np.float32).max) * (1 - 2**-23)
    same = (y == rounded) | (np.isnan(y) & np.isnan(rounded))
    error = np.where(np.isfinite(y) & np.isfinite(rounded), error, np.where(same, 0.0, np.inf))
    return np.where(near_overflow & ~np.isnan(y), np.where(np.abs(y) > 3.4e38, 0.0, error), error)


def check(function: str, x: Floats, y: Floats, limit: float | None = None) -> None:
    """Compare the results of a function of `FUNCTIONS` with numpy's in f64."""
    exact, allowed = FUNCTIONS[function]
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        errors = errors_in_ulp(y, expected)
    worst = int(np.argmax(errors))
    message = f"{function}({x[worst]!r}) = {y[worst]!r}, not {expected[worst]!r}"
    assert errors[worst] <= (limit or allowed), message
