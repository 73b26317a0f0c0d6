"""Numpy meanings of elementwise ops on one tensor: arithmetic, functions of floats, activations."""

from __future__ import annotations

import math

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers, through_f32

_UFUNCS = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "not": np.invert,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "is_nan": np.isnan,
}
for _name, _ufunc in _UFUNCS.items():
    meaning(f"graph.{_name}")(through_f32(_ufunc))

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: Numbers) -> Numbers:
    """The error function in f64, rounded to the type of `x`."""
    return np.asarray(_erf(x.astype(np.float64))).astype(x.dtype)


meaning("graph.erf")(through_f32(erf))


@meaning("graph.rsqrt")
@through_f32
def rsqrt(x: Numbers) -> Numbers:
    """The reciprocal square root."""
    return (x.dtype.type(1) / np.sqrt(x)).astype(x.dtype)


@meaning("graph.is_inf")
@through_f32
def is_inf(x: Numbers, positive: bool, negative: bool) -> Numbers:
    """Whether an element is an infinity of the selected signs."""
    return np.isinf(x) & ((x > 0) & positive | (x < 0) & negative)


@meaning("graph.relu")
@through_f32
def relu(x: Numbers) -> Numbers:
    """The larger of `x` and 0."""
    return np.maximum(x, x.dtype.type(0))


@meaning("graph.sigmoid")
@through_f32
def sigmoid(x: Numbers) -> Numbers:
    """1 / (1 + exp(-x))."""
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


@meaning("graph.softplus")
@through_f32
def softplus(x: Numbers) -> Numbers:
    """log(1 + exp(x)), without overflow."""
    return np.maximum(x, x.dtype.type(0)) + np.log1p(np.exp(-np.abs(x)))


@meaning("graph.leaky_relu")
@through_f32
def leaky_relu(x: Numbers, alpha: float) -> Numbers:
    """`x`, times `alpha` where negative."""
    return np.where(x < 0, x * x.dtype.type(alpha), x)


@meaning("graph.elu")
@through_f32
def elu(x: Numbers, alpha: float) -> Numbers:
    """`x`, or alpha * (exp(x) - 1) where negative."""
    return np.where(x < 0, x.dtype.type(alpha) * np.expm1(x), x)


@meaning("graph.silu")
@through_f32
def silu(x: Numbers, alpha: float) -> Numbers:
    """x * sigmoid(alpha * x)."""
    return x * np.asarray(sigmoid(x.dtype.type(alpha) * x))


@meaning("graph.gelu")
@through_f32
def gelu(x: Numbers, approximate: str) -> Numbers:
    """x times the normal distribution function of x, or its approximation by tanh."""
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    if approximate == "tanh":
        inner = x.dtype.type(math.sqrt(2 / math.pi)) * (x + x.dtype.type(0.044715) * x * x * x)
        return half * x * (one + np.tanh(inner))
    return half * x * (one + erf(x * x.dtype.type(math.sqrt(0.5))))


@meaning("graph.clip")
@through_f32
def clip(x: Numbers, lo: Numbers | None, hi: Numbers | None) -> Numbers:
    """`x` bounded by `lo` and `hi`, each of which may be absent."""
    bounded = x if lo is None else np.maximum(x, lo)
    return bounded if hi is None else np.minimum(bounded, hi)
