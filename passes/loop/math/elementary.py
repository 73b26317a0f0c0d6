"""
Elementary functions of f32 as polynomials, right to about 2 units in the last place, 3 at most.

Coefficients are minimax fits of ours (Lawson's algorithm in extended precision, each coefficient rounded to
f32 in turn and the rest fitted again); ranges are reduced as in Cody and Waite 1980, "Software Manual for the
Elementary Functions". NaN stays NaN, infinities, zeros and denormals come out right. Each function costs some
15 to 30 instructions and never branches.
"""

from __future__ import annotations

from math import inf, nan

from stepwell.passes.loop.math.lanes import Lanes

_LOG2_E = 1.4426950408889634
_LOG10_E = 0.4342944819032518
_LN2 = 0.6931471805599453
# ln 2 and log10 2 in two parts: the first has so few bits that its product with an exponent is exact.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.1219444005469057e-4
_LOG10_2_HIGH, _LOG10_2_LOW = 0.30078125, 2.4874566398119521e-4
# Added to a small number it leaves the nearest integer in the low bits.
ROUNDER = 12582912.0
_ROUNDER_BITS = 0x4B400000
_EXPONENT_BIAS = 127
_MANTISSA_BITS = 23
_SMALLEST_NORMAL = 2.0**-126
_ROOT_HALF_BITS = 0x3F3504F3

# e^f = 1 + f + f^2 q(f) for |f| <= ln(2) / 2: relative error 3.4e-9 in e^f, and 4.6e-10 in e^f - 1.
_EXP = (0.4999999403953552, 0.16666516661643982, 0.041668280959129333, 0.008369248360395432, 0.00138207420241)
_EXPM1 = (
    0.5, 0.1666666567325592, 0.041666485369205475, 0.008333541452884674, 0.0013933228328824043,
    0.00019766994228120893,
)  # fmt: skip
# 2^f = 1 + f q(f) for |f| <= 1/2: relative error 3.2e-9.
_EXP2 = (
    0.6931471824645996, 0.24022647738456726, 0.05550358071923256, 0.009618503041565418,
    0.0013391890097409487, 0.00015329234884120524,
)  # fmt: skip
# ln(1 + f) = f - f^2 / 2 + f^3 q(f) from sqrt(1/2) to sqrt(2): relative error 5.9e-9.
_LOG = (
    0.3333333134651184, -0.2500082552433014, 0.20001249015331268, -0.1662318855524063, 0.14201222360134125,
    -0.13161534070968628, 0.1276586949825287, -0.07635800540447235,
)  # fmt: skip
# (e^2f - 1) / 2 = f + f^2 q(f) for |f| <= ln(2) / 4: relative error 1.4e-8.
_HALF_EXPM1 = (
    0.9999999403953552,
    0.6666616797447205,
    0.3333394527435303,
    0.13387002050876617,
    0.04438998922705,
)
# log2(1 - erf(x)) = x q(x) from 0 to 4, where erf(x) rounds to 1: relative error 5.6e-9 in erf(x).
_ERF = (
    -1.6279070377349854, -0.9184474349021912, -0.14827950298786163, 0.0276435986161232,
    0.00020534940995275974, -0.002374235074967146, 0.0008935050573199987, -0.0001634944201214239,
    1.2569259524752852e-05,
)  # fmt: skip


def _power_of_two(exponent: Lanes) -> Lanes:
    """2^n for an integer n between -126 and 127, by the bits of the exponent."""
    return ((exponent + _EXPONENT_BIAS) << _MANTISSA_BITS).as_float()


def _scale(shifted: Lanes) -> Lanes:
    """2^n, given n + ROUNDER as a float, for an integer n between -126 and 127."""
    # The bits of ROUNDER end in zeros, as many as a shift leaves.
    return ((shifted.bits() << _MANTISSA_BITS) + (_EXPONENT_BIAS << _MANTISSA_BITS)).as_float()


def _whole_part(x: Lanes) -> tuple[Lanes, Lanes]:
    """The pair (n as a float, 2^n) of the nearest whole number, between -126 and 127."""
    if x.scales:
        n = x.to_even()
        return n, x.of(1.0).scaled_by(n)
    shifted = x + ROUNDER
    return shifted - ROUNDER, _scale(shifted)


def _scaled(x: Lanes, shifted: Lanes) -> Lanes:
    """x * 2^n, given n + ROUNDER: in two steps, so that overflow and denormal results come out right."""
    if x.scales:
        return x.scaled_by(shifted - ROUNDER)
    exponent = shifted.bits() - _ROUNDER_BITS
    half = exponent >> 1
    return x * _power_of_two(half) * _power_of_two(exponent - half)


def power_of_two_near(f: Lanes, n: Lanes) -> Lanes:
    """2^(n + f) for a whole n and |f| <= 1/2."""
    return _two_to(f, n + ROUNDER)


def _two_to(f: Lanes, shifted: Lanes) -> Lanes:
    """2^(n + f), given n + ROUNDER."""
    return _scaled(f.times_plus(f.polynomial(_EXP2), 1.0), shifted)


def _split_exponent(x: Lanes) -> tuple[Lanes, Lanes]:
    """The pair (n + ROUNDER, f) of x = n ln 2 + f with an integer n and |f| <= ln(2) / 2."""
    shifted = x.times_plus(_LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    rest = n.times_plus(-_LN2_LOW, n.times_plus(-_LN2_HIGH, x))
    return shifted, rest


def exp(x: Lanes) -> Lanes:
    """e^x."""
    return _exp_of(*_split_exponent(x.at_most(89.0).at_least(-104.0)))


def exp_not_positive(x: Lanes) -> Lanes:
    """
    e^x for an x that is not much above 0, or NaN: right to 1.5 units in the last place down to e^-20.

    ln 2 has one part only, which is off by 1.9e-9: that makes 4.5 units at e^-87, where results have long
    been nothing beside the 1 that they are summed with. (softmax 512x1024: 0.93 of the time)
    Its product with an exponent is not rounded only where multiply-adds are fused.
    """
    x = x.at_least(-104.0)
    shifted = x.times_plus(_LOG2_E, ROUNDER)
    return _exp_of(shifted, (shifted - ROUNDER).times_plus(-_LN2, x))


def _exp_of(shifted: Lanes, f: Lanes) -> Lanes:
    """e^(n ln 2 + f), given n + ROUNDER."""
    return _scaled(f.times_plus(f.times_plus(f.polynomial(_EXP), 1.0), 1.0), shifted)


def exp2(x: Lanes) -> Lanes:
    """2^x; exact where x is an integer."""
    x = x.at_most(129.0).at_least(-151.0)
    shifted = x + ROUNDER
    f = x - (shifted - ROUNDER)
    return _two_to(f, shifted)


def expm1(x: Lanes) -> Lanes:
    """e^x - 1, without loss near zero."""
    shifted, f = _split_exponent(x.at_most(89.0).at_least(-17.5))
    q = (f * f).times_plus(f.polynomial(_EXPM1), f)
    # Half of 2^n, as 2^128 is no f32.
    scale = _power_of_two(shifted.bits() - (_ROUNDER_BITS + 1))
    y = q.times_plus(scale, scale - 0.5) * 2.0
    return x.absolute().compare("olt", 2.0**-25).choose(x, y)


def _split_logarithm(x: Lanes) -> tuple[Lanes, Lanes]:
    """The pair (e as a float, ln(1 + f)) of x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2)."""
    is_denormal = x.compare("olt", _SMALLEST_NORMAL)
    bits = is_denormal.choose(x * 2.0**_MANTISSA_BITS, x).bits() - _ROOT_HALF_BITS
    exponent = (bits >> _MANTISSA_BITS).to_float()
    e = is_denormal.choose(exponent - float(_MANTISSA_BITS), exponent)
    f = ((bits & ((1 << _MANTISSA_BITS) - 1)) + _ROOT_HALF_BITS).as_float() - 1.0
    square = f * f
    tail = square.times_plus(-0.5, square * f * f.polynomial(_LOG))
    return e, f + tail


def _with_poles(x: Lanes, y: Lanes) -> Lanes:
    """The logarithm `y` of x, replaced by inf, -inf or NaN where x is infinite, zero, negative or NaN."""
    finite = x.compare("olt", inf).choose(y, x)
    pole = x.compare("oeq", 0.0).choose(-inf, x.of(nan))
    return x.compare("ole", 0.0).choose(pole, finite)


def log(x: Lanes) -> Lanes:
    """The natural logarithm."""
    e, rest = _split_logarithm(x)
    return _with_poles(x, e.times_plus(_LN2_HIGH, e.times_plus(_LN2_LOW, rest)))


def log2(x: Lanes) -> Lanes:
    """The logarithm to base 2; exact for powers of two."""
    e, rest = _split_logarithm(x)
    return _with_poles(x, rest.times_plus(_LOG2_E, e))


def log10(x: Lanes) -> Lanes:
    """The logarithm to base 10."""
    e, rest = _split_logarithm(x)
    return _with_poles(x, e.times_plus(_LOG10_2_HIGH, e.times_plus(_LOG10_2_LOW, rest * _LOG10_E)))


def log1p(x: Lanes) -> Lanes:
    """ln(1 + x), without loss near zero: the rounding error of 1 + x is added back."""
    total = x + 1.0
    lost = (x - (total - 1.0)) / total
    y = log(total)
    corrected = y + lost
    # At the poles and at infinity nothing was lost, but `lost` is NaN.
    ordinary = total.compare("ogt", 0.0).choose(total.compare("olt", inf).choose(corrected, y), y)
    return x.absolute().compare("olt", 2.0**-25).choose(x, ordinary)


def tanh(x: Lanes) -> Lanes:
    """The hyperbolic tangent, computed from (e^2|x| - 1) / 2 so that small results are exact."""
    size = x.absolute().at_most(9.1)
    shifted = size.times_plus(2 * _LOG2_E, ROUNDER)
    f = (shifted - ROUNDER).times_plus(-_LN2 / 2, size)
    scale = _scale(shifted)
    t = (f * f).times_plus(f.polynomial(_HALF_EXPM1), f).times_plus(scale, scale.times_plus(0.5, -0.5))
    return (t / (t + 1.0)).with_sign_of(x)


def erf(x: Lanes) -> Lanes:
    """The error function: 1 - 2^(n + f) as 1 - 2^n - 2^n (2^f - 1), so that small results are exact."""
    size = x.absolute().at_most(4.0)
    exponent = size * size.polynomial(_ERF)
    n, scale = _whole_part(exponent)
    f = exponent - n
    minus_rest = f * f.polynomial([-c for c in _EXP2])
    return minus_rest.times_plus(scale, scale.of(1.0) - scale).with_sign_of(x)
