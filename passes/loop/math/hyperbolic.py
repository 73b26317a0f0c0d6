"""Hyperbolic functions of f32 and their inverses, from `elementary`: right to 4 units in the last place."""

from __future__ import annotations

from stepwell.passes.loop.math.elementary import exp, expm1, log, log1p
from stepwell.passes.loop.math.lanes import Lanes

_LN2 = 0.6931471805599453
# From here on e^-x is lost against e^x, and 2 x^2 + 1 is no more than 2 x^2.
_MUCH = 10.0
_VERY_MUCH = 4096.0


def _half_power(size: Lanes) -> Lanes:
    """e^x / 2 for large x, as the product of two roots because e^x may overflow f32."""
    root = exp(size * 0.5)
    return root * 0.5 * root


def sinh(x: Lanes) -> Lanes:
    """The hyperbolic sine."""
    size = x.absolute()
    t = expm1(size.at_most(_MUCH))
    y = (t + t / (t + 1.0)) * 0.5
    return size.compare("ogt", _MUCH).choose(_half_power(size), y).with_sign_of(x)


def cosh(x: Lanes) -> Lanes:
    """The hyperbolic cosine."""
    size = x.absolute()
    power = exp(size.at_most(_MUCH))
    y = (power + size.of(1.0) / power) * 0.5
    return size.compare("ogt", _MUCH).choose(_half_power(size), y)


def asinh(x: Lanes) -> Lanes:
    """The inverse hyperbolic sine."""
    size = x.absolute()
    near = size.at_most(_VERY_MUCH)
    square = near * near
    y = log1p(near + square / ((square + 1.0).root() + 1.0))
    return size.compare("ogt", _VERY_MUCH).choose(log(size) + _LN2, y).with_sign_of(x)


def acosh(x: Lanes) -> Lanes:
    """The inverse hyperbolic cosine; NaN below 1."""
    over = x.at_most(_VERY_MUCH) - 1.0
    y = log1p(over + (over * over + over * 2.0).root())
    far = x.compare("ogt", _VERY_MUCH).choose(log(x) + _LN2, y)
    return x.compare("olt", 1.0).choose(x.of(float("nan")), far)


def atanh(x: Lanes) -> Lanes:
    """The inverse hyperbolic tangent; infinite at 1, NaN beyond."""
    size = x.absolute()
    return (log1p(size * 2.0 / (size.of(1.0) - size)) * 0.5).with_sign_of(x)
