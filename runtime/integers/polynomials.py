"""Polynomials with integer coefficients, over atoms that are text: sums, products, exact quotients, text."""

from __future__ import annotations

from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]
"""A sorted product of atoms, with repetition; the empty one belongs to the constant."""
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]
"""A sum: each monomial once, with its coefficient."""


def sum_of(a: Terms, b: Terms) -> dict[Monomial, int]:
    """a + b; terms that cancel have the coefficient 0."""
    terms = dict(a)
    for monomial, coefficient in b:
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return terms


def product_of(a: Terms, b: Terms) -> dict[Monomial, int]:
    """a * b; terms that cancel have the coefficient 0."""
    terms: dict[Monomial, int] = {}
    for m1, c1 in a:
        for m2, c2 in b:
            monomial = tuple(sorted(m1 + m2))
            terms[monomial] = terms.get(monomial, 0) + c1 * c2
    return terms


def exact_quotient(a: Terms, divisor: Monomial, by: int) -> dict[Monomial, int] | None:
    """a / (by * divisor) where that divides every term of a, such as (4 * N * S) / (2 * N); else None."""
    result: dict[Monomial, int] = {}
    for monomial, coefficient in a:
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % by:
            return None
        result[tuple(rest)] = coefficient // by
    return result


def text_of(terms: Terms) -> str:
    """The text of a polynomial other than 0, symbols before the constant: `N + 1`."""
    ordered = sorted(terms, key=lambda term: (term[0] == (), term[0]))
    text = ""
    for monomial, coefficient in ordered:
        factors = list(monomial)
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = " - " if coefficient < 0 else " + "
        text += (sign if text else ("-" if coefficient < 0 else "")) + " * ".join(factors)
    return text
