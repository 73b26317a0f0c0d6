"""
Sine, cosine, tangent and their inverses of f64, within three units in the last place.

Source: fdlibm (polynomials of `k_sin.c`, `k_cos.c`, `s_atan.c`, constants of `e_rem_pio2.c`).
Copyright (C) 1993 by Sun Microsystems, Inc. Permission
to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.
Angles of any size: Payne and Hanek, Radian reduction for trigonometric functions, 1983.
"""

from __future__ import annotations

from functools import cache

from stepwell.lowering.c_math.builder import Function, Value
from stepwell.lowering.c_math.exponential import NAN, two_product

_S = (
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_S1 = -1.66666666666666324348e-01
_C = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_A = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
_ATAN_HIGH = (4.63647609000806093515e-01, 7.85398163397448278999e-01, 9.82793723247329054082e-01)
_ATAN_LOW = (2.26987774529616870924e-17, 3.06161699786838301793e-17, 1.39033110312309984516e-17)
_HALF_PI, _HALF_PI_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17
# Parts of half of pi, each of 33 bits but the last.
_PARTS = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624871116645580e-21)
_PART_LOW = 8.47842766036889956997e-32
_MOST = 2.0**20  # up to here, the number of quadrants times a part is exact
TABLE, _WORDS = "stepwell_two_over_pi", 40
_TABLE_ZEROS = 64
_INFINITY = float("inf")


def reduced_angle(f: Function, x: Value) -> tuple[Value, Value, Value]:
    """The quadrant of an angle as an integer, and the rest, as a sum of two f64."""
    near = f.absolute(x) < _MOST
    small = f.select(near, x, 0.0)
    n = f.whole(small * (2 / 3.141592653589793))
    rest, low = small - n * _PARTS[0], small * 0.0
    for part, after in ((_PARTS[1], _PARTS[2]), (_PARTS[2], _PART_LOW)):
        before, product = rest, n * part
        rest = before - product
        error = (before - rest) - product
        low = n * after - error if part == _PARTS[2] else low - error
    high = rest - low
    count, far, far_low = _far(f, x)
    quadrant = f.select(near, f.convert("fptosi", n, "i32"), count, "i32")
    return quadrant, f.select(near, high, far), f.select(near, (rest - high) - low, far_low)


def _far(f: Function, x: Value) -> tuple[Value, Value, Value]:
    """The same for a large angle: its mantissa times 192 bits of 2/pi, from that on whose multiple counts."""
    bits = f.convert("bitcast", f.absolute(x), "i64")
    exponent = f.convert("trunc", bits >> 52, "i32") - 1075
    exponent = f.between(exponent, -32, 971)
    mantissa = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    first = exponent + (_TABLE_ZEROS - 2)
    shift = f.convert("zext", first & 31, "i64")
    words: list[Value] = []
    for number in range(7):
        index = (first >> 5) + number
        words.append(f.convert("zext", f.element(TABLE, index), "i64"))
    limbs = [((((high << 32) | low) << shift) >> 32) for high, low in zip(words[:-1], words[1:], strict=True)]
    product = _product(mantissa & 0xFFFFFFFF, mantissa >> 32, limbs[::-1])
    quadrant = f.convert("trunc", product[5] >> 30, "i32")
    pairs = zip(product[:0:-1], product[-2::-1], strict=True)
    parts = [((high << 2) | (low >> 30)) & 0xFFFFFFFF for high, low in pairs]
    top = f.convert("trunc", parts[0], "i32")
    # Above a half, the next quadrant is nearer.
    quadrant = quadrant + (top >> 31)
    rest = f.convert("sitofp", top, "double") * 2.0**-32
    scaled = [
        f.convert("uitofp", f.convert("trunc", part, "i32"), "double") * 2.0 ** (-32 * number)
        for number, part in enumerate(parts[1:4], 2)
    ]
    high = rest + scaled[0]
    tail = ((rest - high) + scaled[0]) + scaled[1] + scaled[2]
    total = high + tail
    error = (high - total) + tail
    whole, more = two_product(total, Value(f, f.text_of(_HALF_PI, "double"), "double"))
    more = more + (total * _HALF_PI_LOW + error * _HALF_PI)
    angle = whole + more
    # The sign of x: both the quadrant and the rest change theirs.
    below = x < 0.0
    quadrant = f.select(below, 0 - quadrant, quadrant, "i32")
    angle_low = (whole - angle) + more
    return quadrant, f.select(below, -angle, angle), f.select(below, -angle_low, angle_low)


def _product(low: Value, high: Value, limbs: list[Value]) -> list[Value]:
    """The lowest 192 bits of a product, as integers of 32 bits, the lowest first."""
    result: list[Value] = []
    carry = low & 0
    for limb in limbs:
        t = low * limb + carry
        result.append(t & 0xFFFFFFFF)
        carry = t >> 32
    carry = low & 0
    for number, limb in enumerate(limbs[:-1], 1):
        t = high * limb + result[number] + carry
        result[number] = t & 0xFFFFFFFF
        carry = t >> 32
    return result


@cache
def table_words() -> tuple[int, ...]:
    """The bits of 2/pi after zeros, in words of 32 bits: the table that large angles need."""
    bits = 32 * _WORDS - _TABLE_ZEROS
    value = (2 << (2 * bits + 64)) // _pi(bits + 64)
    return tuple(value >> (32 * number) & 0xFFFFFFFF for number in reversed(range(_WORDS)))


def _pi(bits: int) -> int:
    """Pi times 2^bits, by Machin's formula."""

    def arctangent(inverse: int) -> int:
        total, term, n, sign = 0, (1 << (bits + 32)) // inverse, 1, 1
        while term:
            total += sign * (term // n)
            term //= inverse * inverse
            n, sign = n + 2, -sign
        return total

    return (16 * arctangent(5) - 4 * arctangent(239)) >> 32


def _sine_near(f: Function, x: Value, y: Value) -> Value:
    z = x * x
    v = z * x
    r = f.polynomial(z, _S)
    return x - ((z * (0.5 * y - v * r) - y) - v * _S1)


def _cosine_near(f: Function, x: Value, y: Value) -> Value:
    z = x * x
    half = 0.5 * z
    w = 1.0 - half
    return w + (((1.0 - w) - half) + (z * (z * f.polynomial(z, _C)) - x * y))


def _circular(f: Function, x: Value, shift: int) -> Value:
    """Sine, or with a shift of 1 cosine."""
    quadrant, high, low = reduced_angle(f, x)
    quadrant = quadrant + shift
    is_cosine = _bit(f, quadrant, 1)
    result = f.select(is_cosine, _cosine_near(f, high, low), _sine_near(f, high, low))
    result = f.select(_bit(f, quadrant, 2), -result, result)
    # A sine of -0 is -0.
    result = f.select(x.same(0.0), x, result) if not shift else result
    return f.select(f.absolute(x) < _INFINITY, result, NAN)


def sine(f: Function, x: Value) -> Value:
    """The sine."""
    return _circular(f, x, 0)


def cosine(f: Function, x: Value) -> Value:
    """The cosine."""
    return _circular(f, x, 1)


def tangent(f: Function, x: Value) -> Value:
    """The tangent."""
    quadrant, high, low = reduced_angle(f, x)
    s, c = _sine_near(f, high, low), _cosine_near(f, high, low)
    is_odd = _bit(f, quadrant, 1)
    result = f.select(is_odd, -c, s) / f.select(is_odd, s, c)
    return f.select(f.absolute(x) < _INFINITY, f.select(x.same(0.0), x, result), NAN)


def _bit(f: Function, value: Value, mask: int) -> Value:
    return f.is_set(value & mask)


def arctangent(f: Function, x: Value) -> Value:
    """The arctangent."""
    size = f.absolute(x)
    # Intervals: x itself, and around 1/2, 1, 3/2 and infinity.
    cases = (
        (0.4375, size, 0.0, 0.0),
        (0.6875, (2.0 * size - 1.0) / (2.0 + size), _ATAN_HIGH[0], _ATAN_LOW[0]),
        (1.1875, (size - 1.0) / (size + 1.0), _ATAN_HIGH[1], _ATAN_LOW[1]),
        (2.4375, (size - 1.5) / (1.0 + 1.5 * size), _ATAN_HIGH[2], _ATAN_LOW[2]),
    )
    t, high, low = -1.0 / size, _constant(f, _HALF_PI), _constant(f, _HALF_PI_LOW)
    for limit, value, own_high, own_low in reversed(cases):
        below = size < limit
        t = f.select(below, value, t)
        high, low = f.select(below, own_high, high), f.select(below, own_low, low)
    z = t * t
    result = high - ((t * (z * f.polynomial(z, _A)) - low) - t)
    return f.with_sign(result, x)


def _constant(f: Function, value: float) -> Value:
    return Value(f, f.text_of(value, "double"), "double")


def arctangent_of_two(f: Function, y: Value, x: Value) -> Value:
    """The angle of the point (x, y)."""
    size_y, size_x = f.absolute(y), f.absolute(x)
    both = size_y.same(_INFINITY) & size_x.same(_INFINITY)
    ratio = f.select(both, 1.0, size_y / size_x)
    angle = f.select(size_y.same(0.0), 0.0, arctangent(f, ratio))
    # The sign of x counts for zeros too.
    below = f.with_sign(1.0, x) < 0.0
    angle = f.select(below, 3.141592653589793 - (angle - 1.2246467991473532e-16), angle)
    return f.select(x.same(x) & y.same(y), f.with_sign(angle, y), x + y)


def arcsine(f: Function, x: Value) -> Value:
    """The arcsine; NaN outside of -1 to 1."""
    return arctangent_of_two(f, x, f.root((1.0 - x) * (1.0 + x)))


def arccosine(f: Function, x: Value) -> Value:
    """The arccosine; NaN outside of -1 to 1."""
    return 2.0 * arctangent_of_two(f, f.root(1.0 - x), f.root(1.0 + x))
