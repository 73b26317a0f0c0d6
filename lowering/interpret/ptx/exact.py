"""Arithmetic that numpy does not have: fused multiply-adds, high halves of products, minima of zeros."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from stepwell.lowering.interpret.ptx.values import Value, where

_TIE = np.uint64(0x10000000)
_BELOW_F32 = np.uint64(0x1FFFFFFF)
_LEAST_NORMAL = np.float64(2.0**-126)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def fma(a: Value, b: Value, c: Value) -> Value:
    """
    a * b + c of f32, rounded once.

    The product of two f32 is exact in f64; its sum with c is rounded there, and once more to f32. That is
    wrong only where the sum in f64 is in the middle between two f32, or below the normal ones: there it is
    rounded to odd first (Boldo and Melquiond, 2008).
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    bits = total.view(np.uint64)
    doubtful = ((bits & _BELOW_F32) == _TIE) | (np.abs(total) < _LEAST_NORMAL)
    if doubtful.any():
        total = _rounded_to_odd(product, addend, total)
    return total.astype(np.float32)


_SPLITTER = np.float64(2.0**27 + 1)
_LARGE, _SMALL = np.float64(2.0**500), np.float64(2.0**-450)
"""Between them neither the parts of a product overflow nor does its error lose bits."""


def wide_fma(a: Value, b: Value, c: Value) -> Value:
    """
    a * b + c of f64, rounded once.

    The product is two f64 (Dekker, 1971). Their sum with c is two f64 and a rest, which is rounded to odd
    before it is added (Boldo and Melquiond, 2008). Very large and very small numbers take exact fractions.
    """
    product = a * b
    low = _product_error(a, b, product)
    high_sum = c + low
    low_sum = _sum_error(c, low, high_sum)
    total = product + high_sum
    rest = _sum_error(product, high_sum, total)
    small = rest + low_sum
    found: Value = np.atleast_1d(total + _rounded_to_odd(rest, low_sum, small))
    values = np.broadcast_arrays(np.atleast_1d(a), b, c)
    sizes = np.abs(values)
    finite = np.isfinite(values).all(axis=0)
    extreme = ((sizes > _LARGE) | ((sizes < _SMALL) & (sizes > 0))).any(axis=0)
    plain = np.atleast_1d(a * b + c)
    # Plain arithmetic has the sign of a zero, and infinities.
    found = where(finite & (found != 0), found, plain)
    for position in np.flatnonzero(finite & extreme):
        x, y, z = (Fraction(float(each[position])) for each in values)
        found[position] = _as_float(x * y + z, float(plain[position]))
    return found if max(a.ndim, b.ndim, c.ndim) else found[0]


def _as_float(exact: Fraction, near: float) -> float:
    """The nearest f64; a zero gets its sign from plain arithmetic."""
    try:
        return float(exact) if exact else near
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _product_error(a: Value, b: Value, product: Value) -> Value:
    """The exact product without its rounded one."""
    high_a, high_b = (_upper_bits(each) for each in (a, b))
    low_a, low_b = a - high_a, b - high_b
    return ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def _upper_bits(a: Value) -> Value:
    scaled = a * _SPLITTER
    return scaled - (scaled - a)


def _sum_error(a: Value, b: Value, total: Value) -> Value:
    """The exact sum without its rounded one."""
    part = total - a
    return (a - (total - part)) + (b - part)


def _rounded_to_odd(a: Value, b: Value, total: Value) -> Value:
    """A sum of f64, rounded to odd: the last bit is 1 unless the sum is exact; later roundings are right."""
    error = _sum_error(a, b, total)
    bits = total.view(np.int64)
    is_even = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    step = where((error > 0) == (total > 0), np.int64(1), np.int64(-1))
    return where(is_even, bits + step, bits).view(np.float64)


def high_product(a: Value, b: Value) -> Value:
    """The upper 64 bits of a product of unsigned numbers."""
    low_a, high_a, low_b, high_b = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = high_a * low_b + ((low_a * low_b) >> _HALF)
    other = low_a * high_b + (middle & _LOW)
    return high_a * high_b + (middle >> _HALF) + (other >> _HALF)


def signed_high_product(a: Value, b: Value) -> Value:
    """The upper 64 bits of a product of signed numbers."""
    high = high_product(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return high - where(a < 0, b, 0) - where(b < 0, a, 0)


def maximum(a: Value, b: Value, *, keeps_nan: bool) -> Value:
    """The greater float; 0 is above -0. NaN is the result, or the other number is."""
    found = (np.maximum if keeps_nan else np.fmax)(a, b)
    return _with_signs(a, b, found, np.bitwise_and)


def minimum(a: Value, b: Value, *, keeps_nan: bool) -> Value:
    """The smaller float; -0 is below 0. NaN is the result, or the other number is."""
    found = (np.minimum if keeps_nan else np.fmin)(a, b)
    return _with_signs(a, b, found, np.bitwise_or)


def _with_signs(a: Value, b: Value, found: Value, of_equal: np.ufunc) -> Value:
    """A minimum or maximum, in which equal numbers have one sign bit of both."""
    bits = np.dtype(f"u{found.dtype.itemsize}")
    both = of_equal(a.view(bits), b.view(bits)).view(found.dtype)
    return where((a == 0) & (b == 0), both, found)


def quotient(a: Value, b: Value) -> Value:
    """A quotient of integers towards zero; all bits where the divisor is 0, as GPUs have it."""
    zero: Value = b == 0
    safe: Value = where(zero, b.dtype.type(1), b)
    found: Value = a // safe if a.dtype.kind == "u" else (a - np.fmod(a, safe)) // safe
    return where(zero, ~a.dtype.type(0), found)


def remainder(a: Value, b: Value) -> Value:
    """A remainder of integers with the sign of the dividend; the dividend where the divisor is 0."""
    zero: Value = b == 0
    return where(zero, a, np.fmod(a, where(zero, b.dtype.type(1), b)))


def shifted_left(a: Value, count: Value) -> Value:
    """A shift by a number of bits; 0 when all are shifted out."""
    bits = 8 * a.dtype.itemsize
    inside = np.minimum(count, count.dtype.type(bits - 1)).astype(a.dtype)
    return where(count < bits, a << inside, a.dtype.type(0))


def shifted_right(a: Value, count: Value) -> Value:
    """A shift by a number of bits; zeros, or signs of signed numbers, come in."""
    bits = 8 * a.dtype.itemsize
    inside = np.minimum(count, count.dtype.type(bits - 1)).astype(a.dtype)
    found = a >> inside
    return found if a.dtype.kind == "i" else where(count < bits, found, a.dtype.type(0))


def field(a: Value, position: Value, length: Value) -> Value:
    """Some bits of a number from a position on, with the sign of the highest one for signed numbers."""
    bits = 8 * a.dtype.itemsize
    position, length = position & np.uint32(0xFF), length & np.uint32(0xFF)
    length = np.minimum(length, np.uint32(bits))
    unsigned = shifted_right(a.view(np.dtype(f"u{a.dtype.itemsize}")), position)
    if a.dtype.kind == "i":
        unsigned = where(position + length > bits, shifted_right(a, position).view(unsigned.dtype), unsigned)
    out = np.uint32(bits) - length
    return shifted_right(shifted_left(unsigned, out).view(a.dtype), out)


def inserted(a: Value, b: Value, position: Value, length: Value) -> Value:
    """b with the lowest bits of a at a position."""
    position, length = position & np.uint32(0xFF), length & np.uint32(0xFF)
    ones = ~shifted_left(~b.dtype.type(0), length)
    mask = shifted_left(ones, position)
    return (shifted_left(a, position) & mask) | (b & ~mask)
