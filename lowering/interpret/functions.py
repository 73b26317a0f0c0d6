"""`math`: functions of floats, and a few of integers, by numpy's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell.lowering.interpret.engine import Unary, Value, implement_all
from stepwell.lowering.interpret.scalars import converted
from stepwell.runtime.meaning.elementwise import erf

_numpy: Any = np


def _through_f64(function: Unary) -> Unary:
    """A function of one float, computed in f64 and rounded once."""

    def apply(x: Value) -> Value:
        return function(np.asarray(x, np.float64)).astype(np.asarray(x).dtype)[()]

    return apply


def _round_half_away(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.trunc(x + np.copysign(0.5, x))


def fused_multiply_add(a: Value, b: Value, c: Value) -> Value:
    """a * b + c, rounded once when the product is exact in f64."""
    total = np.add(np.multiply(a, b, dtype=np.float64), c, dtype=np.float64)
    return total.astype(np.result_type(a, b, c))


def _float_to_integer_power(x: Value, n: Value) -> Value:
    return _numpy.power(x, converted(n, np.asarray(x).dtype))


def _count_ones(x: Value) -> Value:
    """The number of set bits."""
    bits = np.asarray(x).view(f"u{np.asarray(x).itemsize}")
    return converted(_numpy.bitwise_count(bits), np.asarray(x).dtype)


_OF_ONE_FLOAT: Mapping[str, Unary] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": erf,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "round": _round_half_away,
    "roundeven": np.rint,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
implement_all({f"math.{name}": _through_f64(function) for name, function in _OF_ONE_FLOAT.items()})
implement_all(
    {
        "math.absf": _numpy.abs,
        "math.absi": _numpy.abs,
        "math.atan2": _numpy.arctan2,
        "math.copysign": _numpy.copysign,
        "math.fma": fused_multiply_add,
        "math.powf": _numpy.power,
        "math.fpowi": _float_to_integer_power,
        "math.ipowi": _numpy.power,
        "math.ctpop": _count_ones,
        "vector.fma": fused_multiply_add,
    }
)
