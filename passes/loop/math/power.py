"""x^y of f32 as 2^(y log2 |x|), with the logarithm and the product in f64."""

from __future__ import annotations

from math import inf, nan

from stepwell.passes.loop.math.elementary import power_of_two_near
from stepwell.passes.loop.math.lanes import Condition, Lanes

_MANTISSA_BITS = 52
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
# Added to a small number, it leaves the nearest integer in the low bits.
_ROUNDER = 6755399441055744.0
_ROUNDER_BITS = 0x4338000000000000
# log2((1 + s) / (1 - s)) = s p(s^2) from sqrt(1/2) to sqrt(2): relative error 2.8e-14.
_LOG2 = (
    2.8853900817778517, 0.9617966941152515, 0.5770779417460453, 0.412209320046401, 0.31990271876959714,
    0.28294533551629486,
)  # fmt: skip


def _log2(x: Lanes) -> Lanes:
    """log2 x of a positive normal f64, to 2^-44."""
    bits = x.bits() - _ROOT_HALF_BITS
    exponent = ((bits >> _MANTISSA_BITS) + _ROUNDER_BITS).as_float() - _ROUNDER
    mantissa = ((bits & ((1 << _MANTISSA_BITS) - 1)) + _ROOT_HALF_BITS).as_float()
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return s.times_plus((s * s).polynomial(_LOG2), exponent)


def power(x: Lanes, y: Lanes) -> Lanes:
    """x^y, with the special values of C's `pow`."""
    # |x|^y: the logarithm and the product in f64, the power of two in f32.
    size = x.absolute()
    logarithm = size.compare("oeq", 1.0).choose(0.0, _log2(size.widened()) * y.widened())
    limited = logarithm.at_most(129.0).at_least(-151.0)
    whole = (limited + _ROUNDER) - _ROUNDER
    result = power_of_two_near((limited - whole).narrowed(), whole.narrowed())
    # The logarithms of 0 and infinity are no numbers to multiply; 0 * NaN is NaN.
    grows, shrinks = y.compare("ogt", 0.0), y.compare("olt", 0.0)
    result = size.compare("oeq", 0.0).choose(shrinks.choose(inf, grows.choose(0.0, y)), result)
    result = size.compare("oeq", inf).choose(shrinks.choose(0.0, grows.choose(inf, y)), result)
    result = _with_sign(result, x, y)
    result = x.compare("uno", x).choose(x, result)
    return y.compare("oeq", 0.0).choose(1.0, result)


def _with_sign(result: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """`result` with the sign of x for odd y, and NaN for negative x with a y that is not whole."""
    half = y * 0.5
    odd: Condition = half.compare("une", half.to_even())
    whole: Condition = y.compare("oeq", y.to_even())
    of_negative = x.compare("olt", 0.0).choose(nan, result)
    broken = x.compare("oeq", -inf).choose(result, of_negative)
    return whole.choose(odd.choose(result.with_sign_of(x), result), broken)
