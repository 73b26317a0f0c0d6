"""Linear inequalities over integers: contradictions by Fourier-Motzkin elimination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import TypeAlias

Monomial: TypeAlias = "tuple[str, ...]"
Inequality: TypeAlias = "Mapping[Monomial, int]"
"""A sum that is at least 0: the coefficient of each product; the empty product has the constant."""

MOST_INEQUALITIES = 64
_ONE: Monomial = ()


def are_contradictory(inequalities: Iterable[Inequality]) -> bool:
    """
    Whether no integers fulfil all inequalities; False also where that is not found.

    Each product of symbols is taken as a number of its own. Source: Fourier-Motzkin elimination, with the
    constants of integers rounded down after each division, and at most 64 inequalities at a time.
    """
    rows = _tightened(inequalities)
    while rows is not None:
        counts = _signs(rows)
        if not counts:
            return False
        # The product whose elimination makes the fewest rows.
        product = min(counts, key=lambda m: counts[m][0] * counts[m][1] - counts[m][0] - counts[m][1])
        lower = [row for row in rows if row.get(product, 0) > 0]
        upper = [row for row in rows if row.get(product, 0) < 0]
        rest = [row for row in rows if not row.get(product)]
        if len(rest) + len(lower) * len(upper) > MOST_INEQUALITIES:
            return False
        rows = _tightened([*rest, *(_combined(a, b, product) for a in lower for b in upper)])
    return True


def _signs(rows: Sequence[Inequality]) -> dict[Monomial, tuple[int, int]]:
    """For each product the numbers of rows in which its coefficient is positive, and negative."""
    counts: dict[Monomial, tuple[int, int]] = {}
    for row in rows:
        for product, factor in row.items():
            if product != _ONE:
                above, below = counts.get(product, (0, 0))
                counts[product] = (above + (factor > 0), below + (factor < 0))
    return counts


def _combined(a: Inequality, b: Inequality, product: Monomial) -> Inequality:
    """The sum of two inequalities in which a product has no coefficient any more."""
    left, right = -b[product], a[product]
    products = {*a, *b} - {product}
    return {m: a.get(m, 0) * left + b.get(m, 0) * right for m in products}


def _tightened(inequalities: Iterable[Inequality]) -> list[Inequality] | None:
    """Inequalities divided by their common factors, without trivial ones; None for a contradiction."""
    found: dict[tuple[tuple[Monomial, int], ...], int] = {}
    for row in inequalities:
        factors = {m: c for m, c in row.items() if m != _ONE and c}
        constant = row.get(_ONE, 0)
        if not factors:
            if constant < 0:
                return None
            continue
        common = gcd(*factors.values())
        key = tuple(sorted((m, c // common) for m, c in factors.items()))
        found[key] = min(found.get(key, constant // common), constant // common)
    return [{**dict(key), _ONE: constant} for key, constant in found.items()]
