"""
Circular functions of f32 and their inverses as polynomials, right to about 2 units in the last place.

Coefficients are fits of ours, as in `elementary`; the reduction to an eighth of the circle takes pi / 2 in
three parts, whose products with the number of quarters a fused multiply-add subtracts exactly (Cody and Waite
1980, "Software Manual for the Elementary Functions"). It is right up to `FARTHEST`, and only with such an
instruction.
"""

from __future__ import annotations

from stepwell.passes.loop.math.elementary import ROUNDER
from stepwell.passes.loop.math.lanes import Lanes

FARTHEST = 131072.0
"""The largest magnitude of which `sin`, `cos` and `tan` are right."""
_TWO_OVER_PI = 0.6366197723675814
_QUARTER = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
# Up to it sin x and tan x round to x.
_STRAIGHT = 2.0**-12

# sin r = r + r^3 p(r^2) for |r| <= pi / 4: relative error 1.6e-10.
_SIN = (-0.1666666716337204, 0.008333379402756691, -0.0001985304697882384, 2.8320996534603182e-06)
# cos r = 1 - r^2 / 2 + r^4 p(r^2): error 1.1e-10.
_COS = (0.04166664555668831, -0.00138873013202101, 2.4430661142105237e-05)
# atan t = t + t^3 p(t^2) for |t| <= 1: relative error 2.3e-9.
_ATAN = (
    -0.33333301544189453, 0.1999862939119339, -0.1426515132188797, 0.10957102477550507, -0.08418121188879013,
    0.05821232497692108, -0.03143414109945297, 0.01105313841253519, -0.0018247392727062106,
)  # fmt: skip
# asin t = t + t^3 p(t^2) for |t| <= 1/2: relative error 2.9e-10.
_ASIN = (
    0.16666659712791443, 0.0750051960349083, 0.044514138251543045, 0.031830351799726486, 0.014355700463056564,
    0.037629712373018265,
)  # fmt: skip


def _odd(t: Lanes, square: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    """t + t^3 p(t^2)."""
    return (t * square).times_plus(square.polynomial(coefficients), t)


def _on_the_circle(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Sine and cosine of x less whole quarters of the circle, and the number of quarters in the low bits."""
    shifted = x.times_plus(_TWO_OVER_PI, ROUNDER)
    quarters = shifted - ROUNDER
    rest = x
    for part in _QUARTER:
        rest = quarters.times_plus(-part, rest)
    return near_sine(rest), near_cosine(rest), shifted.bits()


def near_sine(rest: Lanes, more: Lanes | None = None) -> Lanes:
    """The sine of an eighth of the circle at most; `more` is what the f32 of the angle lacks."""
    square = rest * rest
    if more is None:
        return _odd(rest, square, _SIN)
    return rest + (rest * square).times_plus(square.polynomial(_SIN), more * square.times_plus(-0.5, 1.0))


def near_cosine(rest: Lanes, more: Lanes | None = None) -> Lanes:
    """The cosine of an eighth of the circle at most."""
    square = rest * rest
    near_1 = square.times_plus(-0.5, 1.0)
    if more is not None:
        return near_1 + (square * square).times_plus(square.polynomial(_COS), rest * more * -1.0)
    return (square * square).times_plus(square.polynomial(_COS), near_1)


def sin(x: Lanes) -> Lanes:
    """The sine, up to `FARTHEST`."""
    sine, cosine, quarters = _on_the_circle(x)
    y = (quarters & 1).compare("ne", 0).choose(cosine, sine)
    signed = (y.bits() ^ ((quarters & 2) << 30)).as_float()
    return x.absolute().compare("olt", _STRAIGHT).choose(x, signed)


def cos(x: Lanes) -> Lanes:
    """The cosine, up to `FARTHEST`."""
    sine, cosine, quarters = _on_the_circle(x)
    y = (quarters & 1).compare("ne", 0).choose(sine, cosine)
    return (y.bits() ^ (((quarters + 1) & 2) << 30)).as_float()


def tan(x: Lanes) -> Lanes:
    """The tangent, up to `FARTHEST`."""
    sine, cosine, quarters = _on_the_circle(x)
    odd = (quarters & 1).compare("ne", 0)
    y = odd.choose(cosine, sine) / odd.choose(sine, cosine)
    signed = (y.bits() ^ ((quarters & 1) << 31)).as_float()
    return x.absolute().compare("olt", _STRAIGHT).choose(x, signed)


def _minus(angle: float, rest: float, x: Lanes) -> Lanes:
    """angle + rest - x, where `rest` is the rounding error of the angle."""
    return (x.of(rest) - x) + angle


def _quarter_minus(x: Lanes) -> Lanes:
    return _minus(_QUARTER[0], _QUARTER[1], x)


def _asin_parts(x: Lanes) -> tuple[Lanes, Lanes]:
    """|x| and its arcus sine; beyond 1/2 the arcus sine of the root of (1 - |x|) / 2 instead."""
    size = x.absolute()
    beyond = size.compare("ogt", 0.5)
    square = beyond.choose((size.of(1.0) - size) * 0.5, size * size)
    return size, _odd(beyond.choose(square.root(), size), square, _ASIN)


def asin(x: Lanes) -> Lanes:
    """The arcus sine; NaN beyond 1."""
    size, part = _asin_parts(x)
    return size.compare("ogt", 0.5).choose(_quarter_minus(part * 2.0), part).with_sign_of(x)


def acos(x: Lanes) -> Lanes:
    """The arcus cosine; NaN beyond 1."""
    size, part = _asin_parts(x)
    twice = part * 2.0
    half_turn = _minus(2 * _QUARTER[0], 2 * _QUARTER[1], twice)
    beyond = x.compare("olt", 0.0).choose(half_turn, twice)
    return size.compare("ogt", 0.5).choose(beyond, _quarter_minus(part.with_sign_of(x)))


def atan(x: Lanes) -> Lanes:
    """The arcus tangent."""
    size = x.absolute()
    beyond = size.compare("ogt", 1.0)
    t = beyond.choose(size.of(1.0) / size, size)
    y = _odd(t, t * t, _ATAN)
    return beyond.choose(_quarter_minus(y), y).with_sign_of(x)
