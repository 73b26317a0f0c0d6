"""Numpy meanings of elementwise ops on two or three tensors: arithmetic, comparisons, logic, selection."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.casts import float_to_int
from stepwell.runtime.meaning.floats import Numbers, is_float, through_f32, wide

_UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
for _name, _ufunc in _UFUNCS.items():
    meaning(f"graph.{_name}")(through_f32(_ufunc))


@meaning("graph.divide")
@through_f32
def divide(lhs: Numbers, rhs: Numbers) -> Numbers:
    """The quotient; for integers truncated toward zero, 0 for a zero divisor, and MIN for MIN / -1."""
    if is_float(lhs.dtype):
        return np.divide(lhs, rhs)
    # numpy: x // 0 is 0 and MIN // -1 is MIN, but the quotient is rounded down.
    quotient = lhs // rhs
    inexact = (quotient * rhs != lhs) & (rhs != 0)
    return quotient + (inexact & ((lhs < 0) != (rhs < 0))).astype(lhs.dtype)


@meaning("graph.remainder")
@through_f32
def remainder(lhs: Numbers, rhs: Numbers, rounding: str) -> Numbers:
    """The remainder, with the sign of the divisor for `rounding` "floor", else with that of the dividend."""
    return np.mod(lhs, rhs) if rounding == "floor" else np.fmod(lhs, rhs)


@meaning("graph.power")
def power(lhs: Numbers, rhs: Numbers) -> Numbers:
    """`lhs` to the power of `rhs`, computed in f32 for narrow floats, in f64 for integers to a float."""
    with np.errstate(all="ignore"):
        if is_float(lhs.dtype):
            # Of one shape, so that numpy does not use the square root for an exponent of 1/2: (-inf) ** 0.5
            # is inf.
            base, exponent = np.broadcast_arrays(wide(lhs), wide(rhs))
            return np.power(base, exponent.astype(base.dtype)).astype(lhs.dtype)
        if is_float(rhs.dtype):
            real = np.power(lhs.astype(np.float64), rhs.astype(np.float64))
            return float_to_int(real, lhs.dtype)
        return _integer_power(*np.broadcast_arrays(lhs, rhs))


def _integer_power(base: Numbers, exponent: Numbers) -> Numbers:
    """
    Integer powers: wrapping for exponents of at least 0; below, 1 / power truncated, so 0 unless base is ±1.
    """
    result, factor = np.ones_like(base), base.copy()
    rest = np.maximum(exponent, 0).astype(np.uint64)
    while rest.any():
        result = np.where(rest & np.uint64(1), result * factor, result)
        factor, rest = factor * factor, rest >> np.uint64(1)
    odd = (exponent & exponent.dtype.type(1)).astype(np.bool_)
    if base.dtype.kind == "u":
        inverse = np.where(base == 1, base, 0)
    else:
        inverse = np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0))
    return np.where(exponent < 0, inverse, result).astype(base.dtype)


def _shift_is_legal(amount: Numbers, bits: int) -> Numbers:
    return (amount >= 0) & (amount < bits)


@meaning("graph.shift_left")
def shift_left(lhs: Numbers, rhs: Numbers) -> Numbers:
    """Bits shifted left; 0 for an amount outside of the type's bits."""
    legal = _shift_is_legal(rhs, 8 * lhs.dtype.itemsize)
    return np.where(legal, np.left_shift(lhs, np.where(legal, rhs, 0)), 0).astype(lhs.dtype)


@meaning("graph.shift_right")
def shift_right(lhs: Numbers, rhs: Numbers) -> Numbers:
    """Bits shifted right, arithmetically if signed; only sign bits for a too large amount."""
    legal = _shift_is_legal(rhs, 8 * lhs.dtype.itemsize)
    out = np.where(lhs < 0, -1, 0).astype(lhs.dtype) if lhs.dtype.kind == "i" else np.zeros_like(lhs)
    return np.where(legal, np.right_shift(lhs, np.where(legal, rhs, 0)), out).astype(lhs.dtype)


@meaning("graph.where")
def where(condition: Numbers, on_true: Numbers, on_false: Numbers) -> Numbers:
    """Elements of `on_true` where the condition is true, else of `on_false`."""
    return np.where(condition, on_true, on_false)
