"""Upper bounds of dimension expressions, from the constants in them."""

from __future__ import annotations

from typing import TypeAlias

from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.expression_text import Algebra

# The least and the greatest value; None is unbounded. Symbols and index values are at least 0.
_Range: TypeAlias = tuple[int | None, int | None]


def upper_bound(dim: Dim) -> int | None:
    """A number that the expression never exceeds; None when its constants give no bound."""
    return dim.build(lambda _: (0, None), _RANGES)[1]


def _add(a: _Range, b: _Range) -> _Range:
    """The range of a sum."""
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def _multiply(a: _Range, b: _Range) -> _Range:
    """
    The range of a product: exact when a factor is a constant, or when neither range has negative values.
    """
    factor, other = (a, b) if a[0] == a[1] else (b, a)
    low, high = other
    if factor[0] is None or factor[0] != factor[1]:
        # Two ranges: exact ends only when neither reaches below 0.
        (a_low, a_high), (b_low, b_high) = a, b
        if a_low is None or b_low is None or a_low < 0 or b_low < 0:
            return (None, None)
        return (a_low * b_low, None if a_high is None or b_high is None else a_high * b_high)
    if factor[0] < 0:
        low, high = high, low
    return (None if low is None else low * factor[0], None if high is None else high * factor[0])


def _divide(a: _Range, b: _Range) -> _Range:
    """The range of a quotient, rounded down or up; bounded only when the divisor is positive."""
    if b[0] is None or b[0] != b[1] or b[0] <= 0:
        return (None, a[1] if a[1] is not None and a[1] >= 0 and b[0] is not None and b[0] > 0 else None)
    return (None if a[0] is None else a[0] // b[0], None if a[1] is None else -(-a[1] // b[0]))


def _minimum(a: _Range, b: _Range) -> _Range:
    """The range of the lesser of two."""
    highs = [high for high in (a[1], b[1]) if high is not None]
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    return (low, min(highs, default=None))


def _maximum(a: _Range, b: _Range) -> _Range:
    """The range of the greater of two."""
    lows = [low for low in (a[0], b[0]) if low is not None]
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return (max(lows, default=None), high)


_RANGES: Algebra[_Range] = Algebra(
    number=lambda n: (n, n),
    add=_add,
    multiply=_multiply,
    floordiv=_divide,
    ceildiv=_divide,
    minimum=_minimum,
    maximum=_maximum,
)
