"""
Exponentials, logarithms and powers of f64, within three units in the last place.

Source: fdlibm (polynomials of `e_exp.c`, `e_log.c`, `s_expm1.c`).
Copyright (C) 1993 by Sun Microsystems, Inc. Permission
to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.
Powers: sums of two f64 by Dekker's products (A floating-point technique for extending the available
precision, 1971).
"""

from __future__ import annotations

from typing import TypeAlias

from stepwell.lowering.c_math.builder import Function, Operand, Value

Pair: TypeAlias = "tuple[Value, Value]"
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PER_LN2 = 1.44269504088896338700e00
_P = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
_L = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_Q = (
    -3.33333333333331316428e-02,
    1.58730158725481460165e-03,
    -7.93650757867487942473e-05,
    4.00821782732936239552e-06,
    -2.01099218183624371326e-07,
)
_INFINITY = float("inf")
NAN = float("nan")
_LARGEST = 800.0  # whose exponential is infinite


def exponential(f: Function, x: Value, low: Operand = 0.0) -> Value:
    """The exponential of x + low; NaN of NaN."""
    number = f.select(x.same(x), x, 0.0)
    number = f.select(number > _LARGEST, _LARGEST, f.select(number < -_LARGEST, -_LARGEST, number))
    k = f.whole(number * _PER_LN2)
    return f.select(x.same(x), _scaled(f, _reduced(f, number - k * LN2_HIGH, k * LN2_LOW - low), k), x)


def power_of_two(f: Function, x: Value) -> Value:
    """2^x."""
    number = f.select(x.same(x), x, 0.0)
    number = f.select(number > 1200.0, 1200.0, f.select(number < -1200.0, -1200.0, number))
    k = f.whole(number)
    rest = number - k
    high = rest * LN2_HIGH
    return f.select(x.same(x), _scaled(f, _reduced(f, high, rest * -LN2_LOW), k), x)


def _reduced(f: Function, high: Value, low: Value) -> Value:
    """The exponential of high - low, which is at most half of ln 2."""
    r = high - low
    t = r * r
    c = r - t * f.polynomial(t, _P)
    return 1.0 - ((low - (r * c) / (2.0 - c)) - high)


def _scaled(f: Function, y: Value, k: Value) -> Value:
    """The product of y and 2^k, by two factors, since one of them may be no number."""
    count = f.convert("fptosi", k, "i32")
    half = f.op("ashr", count, 1)
    return y * _two_to(f, half) * _two_to(f, count - half)


def _two_to(f: Function, k: Value) -> Value:
    """2^k, for a k of which that is a normal number."""
    return f.convert("bitcast", f.convert("zext", k + 1023, "i64") << 52, "double")


def minus_one(f: Function, x: Value) -> Value:
    """exp(x) - 1, without cancellation near 0."""
    half = 0.5 * x
    square = x * half
    r = 1.0 + square * f.polynomial(square, _Q)
    t = 3.0 - r * half
    e = square * ((r - t) / (6.0 - x * t))
    near = x - (x * e - square)
    near = f.select(x.same(0.0), x, near)
    return f.select(f.absolute(x) < 0.34, near, exponential(f, x) - 1.0)


def split(f: Function, x: Value) -> tuple[Value, Value]:
    """The k and m - 1 of x = 2^k m, for a positive x, with m between roots of 1/2 and 2."""
    small = x < 2.2250738585072014e-308
    bits = f.convert("bitcast", f.select(small, x * 18014398509481984.0, x), "i64")
    # Mantissas from the root of 1/2 on count for the next exponent.
    moved = bits + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    exponent = f.convert("trunc", moved >> 52, "i32") - 1023
    exponent = exponent - f.select(small, 54, 0, "i32")
    mantissa = (moved & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD
    return f.convert("sitofp", exponent, "double"), f.convert("bitcast", mantissa, "double") - 1.0


def _mantissa_logarithm(f: Function, m: Value) -> tuple[Value, Value]:
    """Two terms of the logarithm of 1 + m: m less their sum; the first is half of the square."""
    s = m / (2.0 + m)
    z = s * s
    half = 0.5 * m * m
    return half, s * (half + z * f.polynomial(z, _L))


def logarithm(f: Function, x: Value) -> Value:
    """The natural logarithm."""
    k, m = split(f, x)
    half, rest = _mantissa_logarithm(f, m)
    return _special(f, x, k * LN2_HIGH - ((half - (rest + k * LN2_LOW)) - m))


def logarithm_of_base(f: Function, x: Value, per: float, high: float, low: float) -> Value:
    """The logarithm times `per`; high and low are the logarithm of 2 to that base."""
    k, m = split(f, x)
    half, rest = _mantissa_logarithm(f, m)
    return _special(f, x, (k * low + per * (m - (half - rest))) + k * high)


def _special(f: Function, x: Value, result: Value) -> Value:
    """The logarithm of what is no positive number."""
    result = f.select(x.same(_INFINITY), x, result)
    result = f.select(x.same(0.0), -_INFINITY, result)
    return f.select(x >= 0.0, result, NAN)


def logarithm_of_next(f: Function, x: Value) -> Value:
    """log(1 + x), without cancellation near 0."""
    u = 1.0 + x
    result = logarithm(f, u) - ((u - 1.0) - x) / u
    result = f.select(u.same(1.0) | x.same(_INFINITY), x, result)
    return f.select(x.same(-1.0), -_INFINITY, result)


# Sums of two f64


def two_sum(a: Value, b: Value) -> Pair:
    """The sum, and the error of its rounding."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _halves(a: Value) -> Pair:
    """Two parts of 26 bits."""
    c = a * 134217729.0
    high = c - (c - a)
    return high, a - high


def two_product(a: Value, b: Value) -> Pair:
    """The product, and the error of its rounding."""
    p = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _product(a: Pair, b: Pair) -> Pair:
    p, e = two_product(a[0], b[0])
    return p, e + (a[0] * b[1] + a[1] * b[0])


def _constant(f: Function, value: float) -> Value:
    return Value(f, f.text_of(value, "double"), "double")


def precise_logarithm(f: Function, x: Value) -> Pair:
    """The logarithm of a positive number with 66 bits: 2 (s + s^3/3 + s^5/5 + …) and k ln 2."""
    k, m = split(f, x)
    d = 2.0 + m
    s = m / d
    p, e = two_product(s, d)
    pair = s, (((m - p) - e) - s * (m - (d - 2.0))) / d
    square = _product(pair, pair)
    third = _constant(f, 2 / 3), _constant(f, 2 / 3 * 2**-54)  # 2/3 is that much more than its f64
    cube = _product(_product(pair, square), third)
    z = square[0]
    tail = s * z * z * f.polynomial(z, [2 / n for n in range(5, 25, 2)])
    high, error = two_sum(k * LN2_HIGH, 2.0 * s)
    error = error + (k * LN2_LOW + 2.0 * pair[1])
    high, more = two_sum(high, cube[0])
    low = error + more + (cube[1] + tail)
    total = high + low
    return total, low - (total - high)


def power(f: Function, x: Value, y: Value) -> Value:
    """x^y, with the special cases of C."""
    base, size = f.absolute(x), f.absolute(y)
    limited = f.select(size > 1e20, f.with_sign(1e20, y), y)
    normal = (base > 0.0) & (base < _INFINITY) & limited.same(limited)
    log = precise_logarithm(f, f.select(normal, base, 2.0))
    p, e = two_product(f.select(normal, limited, 1.0), log[0])
    result = exponential(f, p, e + limited * log[1])
    up = y > 0.0
    result = f.select(base.same(0.0), f.select(up, 0.0, _INFINITY), result)
    result = f.select(base.same(_INFINITY), f.select(up, _INFINITY, 0.0), result)
    grows = (base > 1.0) ^ (y < 0.0)
    endless = f.select(base.same(1.0), 1.0, f.select(grows, _INFINITY, 0.0))
    result = f.select(size.same(_INFINITY), endless, result)
    is_whole = _is_whole(f, y)
    is_odd = is_whole & f.opposite(_is_whole(f, 0.5 * y))
    result = f.select(is_odd, f.with_sign(result, x), result)
    is_part = f.opposite(is_whole)
    result = f.select((x < 0.0) & (base < _INFINITY) & is_part, NAN, result)
    result = f.select(x.same(x) & y.same(y), result, x + y)
    return f.select(x.same(1.0) | y.same(0.0), 1.0, result)


def _is_whole(f: Function, y: Value) -> Value:
    """Whether a number is an integer; all from 2^52 on are."""
    size = f.absolute(y)
    return ((size + 4503599627370496.0) - 4503599627370496.0).same(size) | (size >= 4503599627370496.0)
