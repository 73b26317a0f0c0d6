"""
Hyperbolic functions, the error function and the cube root of f64, within three units in the last place.

Source: fdlibm (polynomials of `s_erf.c`). Copyright (C) 1993 by Sun Microsystems, Inc. Permission
to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.
"""

from __future__ import annotations

from stepwell.lowering.c_math.builder import Function, Value
from stepwell.lowering.c_math.exponential import NAN, exponential, logarithm, logarithm_of_next, minus_one

_LN2 = 0.6931471805599453
_INFINITY = float("inf")


def sinh(f: Function, x: Value) -> Value:
    """The hyperbolic sine."""
    size = f.absolute(x)
    t, half = minus_one(f, size), exponential(f, 0.5 * size)
    near = 0.5 * (t + t / (t + 1.0))
    return f.with_sign(f.select(size < 40.0, near, (0.5 * half) * half), x)


def cosh(f: Function, x: Value) -> Value:
    """The hyperbolic cosine."""
    size = f.absolute(x)
    t, half = exponential(f, size), exponential(f, 0.5 * size)
    return f.select(size < 40.0, 0.5 * t + 0.5 / t, (0.5 * half) * half)


def tanh(f: Function, x: Value) -> Value:
    """The hyperbolic tangent."""
    size = f.absolute(x)
    grown, shrunk = minus_one(f, 2.0 * size), minus_one(f, -2.0 * size)
    result = f.select(size < 1.0, -shrunk / (shrunk + 2.0), 1.0 - 2.0 / (grown + 2.0))
    return f.with_sign(f.select(size.same(size), f.select(size > 22.0, 1.0, result), x), x)


def asinh(f: Function, x: Value) -> Value:
    """The inverse hyperbolic sine."""
    size = f.absolute(x)
    square = size * size
    near = logarithm_of_next(f, size + square / (1.0 + f.root(square + 1.0)))
    return f.with_sign(f.select(size < 268435456.0, near, logarithm(f, size) + _LN2), x)


def acosh(f: Function, x: Value) -> Value:
    """The inverse hyperbolic cosine; NaN below 1."""
    t = x - 1.0
    near = logarithm_of_next(f, t + f.root(2.0 * t + t * t))
    result = f.select(x < 268435456.0, near, logarithm(f, x) + _LN2)
    return f.select(x >= 1.0, result, NAN)


def atanh(f: Function, x: Value) -> Value:
    """The inverse hyperbolic tangent; NaN outside of -1 to 1."""
    size = f.absolute(x)
    twice, rest = size + size, 1.0 - size
    argument = f.select(size < 0.5, twice + twice * size / rest, twice / rest)
    return f.with_sign(0.5 * logarithm_of_next(f, argument), x)


def cube_root(f: Function, x: Value) -> Value:
    """The cube root."""
    size = f.absolute(x)
    normal = (size > 0.0) & (size < _INFINITY)
    number = f.select(normal, size, 1.0)
    t = exponential(f, logarithm(f, number) / 3.0)
    t = t - (t - number / (t * t)) / 3.0
    return f.select(normal, f.with_sign(t, x), x)


_SMALL = (
    1.28379167095512558561e-01,
    -3.25042107247001499370e-01,
    -2.84817495755985104766e-02,
    -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)
_SMALL_BELOW = (
    1.0,
    3.97917223959155352819e-01,
    6.50222499887672944485e-02,
    5.08130628187576562776e-03,
    1.32494738004321644526e-04,
    -3.96022827877536812320e-06,
)
_NEAR_ONE = (
    -2.36211856075265944077e-03,
    4.14856118683748331666e-01,
    -3.72207876035701323847e-01,
    3.18346619901161753674e-01,
    -1.10894694282396677476e-01,
    3.54783043256182359371e-02,
    -2.16637559486879084300e-03,
)
_NEAR_ONE_BELOW = (
    1.0,
    1.06420880400844228286e-01,
    5.40397917702171048937e-01,
    7.18286544141962662868e-02,
    1.26171219808761642112e-01,
    1.36370839120290507362e-02,
    1.19844998467991074170e-02,
)
_MIDDLE = (
    -9.86494403484714822705e-03,
    -6.93858572707181764372e-01,
    -1.05586262253232909814e01,
    -6.23753324503260060396e01,
    -1.62396669462573470355e02,
    -1.84605092906711035994e02,
    -8.12874355063065934246e01,
    -9.81432934416914548592e00,
)
_MIDDLE_BELOW = (
    1.0,
    1.96512716674392571292e01,
    1.37657754143519042600e02,
    4.34565877475229228821e02,
    6.45387271733267880336e02,
    4.29008140027567833386e02,
    1.08635005541779435134e02,
    6.57024977031928170135e00,
    -6.04244152148580987438e-02,
)
_FAR = (
    -9.86494292470009928597e-03,
    -7.99283237680523006574e-01,
    -1.77579549177547519889e01,
    -1.60636384855821916062e02,
    -6.37566443368389627722e02,
    -1.02509513161107724954e03,
    -4.83519191608651397019e02,
)
_FAR_BELOW = (
    1.0,
    3.03380607434824582924e01,
    3.25792512996573918826e02,
    1.53672958608443695994e03,
    3.19985821950859553908e03,
    2.55305040643316442583e03,
    4.74528541206955367215e02,
    -2.24409524465858183362e01,
)


def error_function(f: Function, x: Value) -> Value:
    """The error function, by quotients for four intervals."""
    size = f.absolute(x)
    square = size * size
    small = size + size * (f.polynomial(square, _SMALL) / f.polynomial(square, _SMALL_BELOW))
    s = size - 1.0
    middle = 8.45062911510467529297e-01 + f.polynomial(s, _NEAR_ONE) / f.polynomial(s, _NEAR_ONE_BELOW)
    inverse = 1.0 / square
    quotient = f.select(
        size < 1 / 0.35,
        f.polynomial(inverse, _MIDDLE) / f.polynomial(inverse, _MIDDLE_BELOW),
        f.polynomial(inverse, _FAR) / f.polynomial(inverse, _FAR_BELOW),
    )
    bits = f.convert("bitcast", size, "i64") & -0x100000000
    high = f.convert("bitcast", bits, "double")
    rest = exponential(f, -high * high - 0.5625) * exponential(f, (high - size) * (high + size) + quotient)
    result = f.select(size < 0.84375, small, f.select(size < 1.25, middle, 1.0 - rest / size))
    result = f.select(size >= 6.0, 1.0, result)
    return f.with_sign(f.select(x.same(x), result, x), x)
