"""Congruences: the remainder that all values of an expression have."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

from stepwell.runtime.dims import Dim


class Congruence(NamedTuple):
    """All values are `remainder` more than a multiple of `modulus`; the modulus 0 is for one number."""

    modulus: int
    remainder: int

    @staticmethod
    def of(modulus: int, remainder: int) -> Congruence:
        """A congruence with the least remainder that is not negative."""
        return Congruence(modulus, remainder % modulus if modulus else remainder)

    def plus(self, other: Congruence) -> Congruence:
        """The congruence of a sum."""
        return Congruence.of(gcd(self.modulus, other.modulus), self.remainder + other.remainder)

    def times(self, other: Congruence) -> Congruence:
        """The congruence of a product."""
        (m, r), (n, s) = self, other
        return Congruence.of(gcd(m * n, m * s, n * r), r * s)


ANY = Congruence(1, 0)


def congruence_of(dim: Dim, symbols: Mapping[str, Congruence]) -> Congruence:
    """
    The congruence of an expression, computed from its symbols' congruences; a division can have any value.
    """
    total = Congruence(0, 0)
    for product, factor in dim.terms():
        value = Congruence(0, factor)
        for atom in product:
            value = value.times(symbols.get(atom, ANY))
        total = total.plus(value)
    return total
