"""
Circular functions of any f32 by integers, right to 1.3 units in the last place, the tangent to 2.4: for GPUs.

Angles are reduced with 192 bits of 2 / pi, in digits of 12 bits, whose products fit 32 bits with their sums
(Payne and Hanek, Radian reduction for trigonometric functions, 1983). Multiply-adds may round twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from xdsl.dialects import arith

from stepwell.passes.loop.math.lanes import Lanes
from stepwell.passes.loop.math.trigonometric import near_cosine, near_sine

_TWO_OVER_PI = (
    2607, 2435, 1764, 3652, 338, 2556, 629, 2001, 3923, 1245, 3085, 2914, 2393, 2364, 1081, 65,
)  # fmt: skip
"""2 / pi in digits of 12 bits."""
_DIGIT_BITS, _DIGIT = 12, 0xFFF
_WINDOW, _PLACES, _PARTS = 9, 7, 3
"""The digits of 2 / pi that matter; those of the product, whose last has a carry; those of a mantissa."""
_PER_DIGIT, _PER_DIGIT_SHIFT = 43691, 19
"""n times the one, shifted by the other, is a twelfth of n."""
_MANTISSA_BITS, _MANTISSA, _ONE = 23, 0x7FFFFF, 0x800000
_HALF_EXPONENT = 126
_SIGN, _SIZE, _INFINITE = -0x80000000, 0x7FFFFFFF, 0x7F800000
_QUARTER = (1.5703125, 0.00048382679)
"""Half of pi: 12 bits, and the rest."""


def sin(x: Lanes) -> Lanes:
    """The sine."""
    quadrant, sine, cosine = _on_the_circle(x)
    y = (quadrant & 1).compare("ne", 0).choose(cosine, sine)
    sign = (x.bits() & _SIGN) ^ ((quadrant & 2) << 30)
    return _finite(x, (y.bits() ^ sign).as_float())


def cos(x: Lanes) -> Lanes:
    """The cosine."""
    quadrant, sine, cosine = _on_the_circle(x)
    y = (quadrant & 1).compare("ne", 0).choose(sine, cosine)
    return _finite(x, (y.bits() ^ (((quadrant + 1) & 2) << 30)).as_float())


def tan(x: Lanes) -> Lanes:
    """The tangent."""
    quadrant, sine, cosine = _on_the_circle(x)
    odd = (quadrant & 1).compare("ne", 0)
    y = odd.choose(cosine, sine) / odd.choose(sine, cosine)
    sign = (x.bits() & _SIGN) ^ ((quadrant & 1) << 31)
    return _finite(x, (y.bits() ^ sign).as_float())


def _finite(x: Lanes, y: Lanes) -> Lanes:
    """NaN for what is no angle, by the bits: comparisons of shaders may take NaN for a number."""
    return (x.bits() & _SIZE).compare("sge", _INFINITE).choose(nan, y)


def _on_the_circle(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """The quarters of the circle in |x|, and sine and cosine of the rest."""
    bits = x.bits() & _SIZE
    above_half = (bits >> _MANTISSA_BITS) - _HALF_EXPONENT
    is_near = above_half.compare("slt", 0)
    exponent = is_near.choose(0, above_half)
    whole = (exponent * _PER_DIGIT) >> _PER_DIGIT_SHIFT
    parts = _shifted((bits & _MANTISSA) ^ _ONE, exponent - whole * _DIGIT_BITS)
    digits = _product(parts, _window(whole))
    # From a half on the next quarter is nearer; 1 less a fraction has the opposite digits.
    is_beyond = (digits[1] >> (_DIGIT_BITS - 1)).compare("ne", 0)
    quadrant = is_near.choose(0, digits[0] + is_beyond.choose(1, digits[0] & 0))
    fraction = [is_beyond.choose(each ^ _DIGIT, each) for each in digits[1:]]
    size, more = _angle(fraction)
    rest = is_near.choose(x.absolute(), is_beyond.choose(size * -1.0, size))
    more = is_near.choose(0.0, is_beyond.choose(more * -1.0, more))
    return quadrant, near_sine(rest, more), near_cosine(rest, more)


def _shifted(mantissa: Lanes, bits: Lanes) -> list[Lanes]:
    """A mantissa times a power of two below a digit, in digits, the lowest first."""
    low = mantissa.make(arith.ShLIOp, [mantissa & _DIGIT, bits])
    high = mantissa.make(arith.ShLIOp, [mantissa >> _DIGIT_BITS, bits]) + (low >> _DIGIT_BITS)
    return [low & _DIGIT, high & _DIGIT, high >> _DIGIT_BITS]


def _window(first: Lanes) -> list[Lanes]:
    """The digits of 2 / pi from a place on, after two zeros and the one before the point."""
    digits: list[Lanes | int] = [0, 0, 0, *_TWO_OVER_PI]
    step = 8
    while step:
        is_moved = (first & step).compare("ne", 0)
        padded = [*digits, *[0] * step]
        digits = [is_moved.choose(padded[n + step], padded[n]) for n in range(_WINDOW + step - 1)]
        step //= 2
    return [digit for digit in digits if isinstance(digit, Lanes)]


def _product(parts: Sequence[Lanes], window: Sequence[Lanes]) -> list[Lanes]:
    """The digits of a product: the quadrant, then those after the point."""
    digits: list[Lanes] = []
    carry: Lanes | int = 0
    for place in reversed(range(_PLACES)):
        total = parts[0] * window[place]
        for number in range(1, _PARTS):
            total = total + parts[number] * window[place + number]
        total = total + carry
        digits.insert(0, total & (_DIGIT if place else 3))
        carry = total >> _DIGIT_BITS
    return digits


def _angle(fraction: Sequence[Lanes]) -> tuple[Lanes, Lanes]:
    """A fraction of a quarter as an angle, and what its f32 lacks."""
    first, second = fraction[0].to_float() * 2.0**-12, fraction[1].to_float() * 2.0**-24
    third = ((fraction[2] << _DIGIT_BITS) ^ fraction[3]).to_float() * 2.0**-48
    rest = (third + fraction[4].to_float() * 2.0**-60) * (_QUARTER[0] + _QUARTER[1])
    # Products of 12 by 12 bits are exact.
    large = first * _QUARTER[0]
    small = second * _QUARTER[0] + ((first + second) * _QUARTER[1] + rest)
    total = large + small
    return total, small - (total - large)
