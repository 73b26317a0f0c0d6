"""Divisions and extrema that ranges decide, as a table of rules and the function that applies them."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import NamedTuple, TypeAlias

from stepwell.runtime.dims import Dim, atom_operands
from stepwell.runtime.integers.expression_text import Algebra
from stepwell.runtime.integers.intervals import Interval

IsPositive: TypeAlias = "Callable[[Dim], bool]"
IntervalOf: TypeAlias = "Callable[[Dim], Interval]"


class Rule(NamedTuple):
    """An equation over all integers `x`, `y`, `z` under a condition; `c` and `d` are numbers."""

    left: str
    right: str
    condition: str = ""


RULES = (
    Rule("(x * c + y) floordiv c", "x + y floordiv c", "c > 0"),
    Rule("(x * c + y) ceildiv c", "x + y ceildiv c", "c > 0"),
    Rule("(x floordiv c + y) floordiv d", "(x + y * c) floordiv (c * d)", "c > 0 and d > 0"),
    Rule("(x ceildiv c) ceildiv d", "x ceildiv (c * d)", "c > 0 and d > 0"),
    Rule("(x * c + y) floordiv (c * d)", "x floordiv d", "c > 0 and d > 0 and 0 <= y and y < c"),
    Rule("x floordiv c", "z", "c > 0 and z * c <= x and x < z * c + c"),
    Rule("x ceildiv c", "z", "c > 0 and z * c - c < x and x <= z * c"),
    Rule("x ceildiv c", "(x + c - 1) floordiv c", "c > 0"),
    Rule("x mod c", "x - c * (x floordiv c)", "c > 0"),
    Rule("x mod c", "x", "0 <= x and x < c"),
    Rule("(x * c + y) mod c", "y mod c", "c > 0"),
    Rule("(x mod (c * d)) floordiv c", "(x floordiv c) mod d", "c > 0 and d > 0"),
    Rule("(x mod (c * d)) mod c", "x mod c", "c > 0 and d > 0"),
    Rule("x floordiv c * c + x mod c", "x", "c > 0"),
    Rule("(x * c) floordiv (d * c)", "x floordiv d", "c > 0 and d > 0"),
    Rule("min(x, y)", "x", "x <= y"),
    Rule("max(x, y)", "y", "x <= y"),
    Rule("min(x, min(x, y))", "min(x, y)"),
    Rule("max(x, max(x, y))", "max(x, y)"),
)
"""All equations by which expressions are simplified: here, and by the normal form of `Dim`."""


def simplified(dim: Dim, is_positive: IsPositive, interval_of: IntervalOf) -> Dim:
    """An expression over symbols that are at least 0, without divisions and extrema that ranges decide."""
    algebra = Algebra(
        number=Dim.of,
        add=lambda a, b: a + b,
        multiply=lambda a, b: a * b,
        floordiv=lambda a, b: _floordiv(a, b, is_positive, interval_of),
        ceildiv=lambda a, b: _ceildiv(a, b, is_positive, interval_of),
        minimum=lambda a, b: a if is_positive(b - a) else b if is_positive(a - b) else a.minimum(b),
        maximum=lambda a, b: b if is_positive(b - a) else a if is_positive(a - b) else a.maximum(b),
    )
    return dim.build(Dim.symbol, algebra)


def _floordiv(a: Dim, b: Dim, is_positive: IsPositive, interval_of: IntervalOf) -> Dim:
    if not (b.is_static and b.value > 0):
        return a // b
    a, b = _without_nested(a, b)
    shorter, b = without_common_factor(_without_small_part(a, b.value, is_positive), b)
    low, high = interval_of(shorter)
    if low is not None and high is not None and low // b == high // b:
        return low // b
    return quotient(shorter, b)


def _ceildiv(a: Dim, b: Dim, is_positive: IsPositive, interval_of: IntervalOf) -> Dim:
    if not (b.is_static and b.value > 0):
        return a.ceildiv(b)
    low, high = interval_of(a)
    if low is not None and high is not None and low.ceildiv(b) == high.ceildiv(b):
        return low.ceildiv(b)
    return _floordiv(a + (b - 1), b, is_positive, interval_of)


def _without_nested(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """(x floordiv c + y) floordiv d as the operands of (x + y * c) floordiv (c * d)."""
    inner = [
        (Dim({product: 1}), parts[1], parts[2])
        for product, factor in a.terms()
        if factor == 1 and len(product) == 1 and (parts := atom_operands(product[0])) is not None
        if parts[0] == "floordiv" and parts[2].is_static and parts[2].value > 0
    ]
    if len(inner) != 1:
        return a, b
    ((atom, x, c),) = inner
    return _without_nested(x + (a - atom) * c, b * c)


def without_common_factor(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """The operands of a division by a number, without the factor that all their numbers have."""
    common = gcd(b.value, *(factor for _, factor in a.terms()))
    return Dim({m: factor // common for m, factor in a.terms()}), Dim.of(b.value // common)


def quotient(a: Dim, b: Dim) -> Dim:
    """A floor division; by a number, the constant inside is less than it."""
    if not (b.is_static and b.value > 0) or a.is_unknown:
        return a // b
    whole = dict(a.terms()).get((), 0) // b.value
    return (a - whole * b.value) // b + whole


def _without_small_part(a: Dim, by: int, is_positive: IsPositive) -> Dim:
    """(x * c + y) without y, for a divisor that c divides, where y is less than c."""
    coefficients = {abs(c) for m, c in a.terms() if m and by % abs(c) == 0 and abs(c) > 1}
    for c in sorted(coefficients):
        multiple = Dim({m: k for m, k in a.terms() if k % c == 0})
        rest = a - multiple
        if rest != 0 and is_positive(rest) and is_positive(c - 1 - rest):
            return multiple
    return a
