"""Intervals of expressions over symbols that are at least 0, some of which have a greatest value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from stepwell.runtime.dims import Dim, atom_operands

_MOST_STEPS = 64


class Interval(NamedTuple):
    """The least and the greatest value; None where nothing is known."""

    low: Dim | None
    high: Dim | None


class Intervals:
    """
    Finds intervals over symbols that are sizes, by eliminating those with a range.

    Args: `highest` are the symbols to eliminate, with their greatest values; `is_positive` says whether an
    expression is provably at least 0.
    """

    def __init__(self, highest: Mapping[str, Dim | None], is_positive: Callable[[Dim], bool]):
        self._highest, self._is_positive = highest, is_positive

    def of(self, dim: Dim) -> Interval:
        """The interval of an expression."""
        return Interval(self._end(dim, least=True), self._end(dim, least=False))

    def _end(self, dim: Dim, *, least: bool, steps: int = _MOST_STEPS) -> Dim | None:
        """The minimum or maximum of an expression; None if it is not found."""
        if steps == 0 or dim.is_unknown:
            return None
        if dim.is_static:
            return dim
        if (rest := _remainder(dim)) is not None:
            return self._with_remainder(*rest, least=least, steps=steps - 1)
        atoms = _atoms(dim)
        for atom in atoms:
            if atom_operands(atom) is None and atom not in self._highest:
                continue
            if any(atom in other_symbols(other) for other in atoms if other != atom):
                continue  # is eliminated after the atoms that contain it
            factor, others = _split(dim, atom)
            if factor is None or (sign := self._sign(factor)) == 0:
                return None
            end = self._of_atom(atom, least=least == (sign > 0), steps=steps - 1)
            return None if end is None else self._end(factor * end + others, least=least, steps=steps - 1)
        return dim

    def _with_remainder(self, factor: int, by: int, rest: Dim, *, least: bool, steps: int) -> Dim | None:
        """An end of factor * (x mod by) + rest."""
        end = self._end(rest, least=least, steps=steps)
        if end is None:
            return None
        return end + min(0, factor * (by - 1)) if least else end + max(0, factor * (by - 1))

    def _sign(self, factor: Dim) -> int:
        """1 for an expression from 0 on, -1 for an expression up to 0, 0 for any other."""
        if self._is_positive(factor):
            return 1
        return -1 if self._is_positive(-factor) else 0

    def _of_atom(self, atom: str, *, least: bool, steps: int) -> Dim | None:
        """The least or the greatest value of a symbol, division or extremum."""
        match atom_operands(atom):
            case None:
                return Dim.of(0) if least else self._highest.get(atom)
            case ("floordiv" | "ceildiv" as kind, left, right) if right.is_static and right.value > 0:
                end = self._end(left, least=least, steps=steps)
                return None if end is None else end // right if kind == "floordiv" else end.ceildiv(right)
            case ("min" | "max" as kind, left, right):
                ends = [self._end(side, least=least, steps=steps) for side in (left, right)]
                return self._of_extremum(kind, *ends, least=least)
            case _:
                return None

    @staticmethod
    def _of_extremum(kind: str, a: Dim | None, b: Dim | None, *, least: bool) -> Dim | None:
        """An end of an extremum; one operand alone bounds it on one side."""
        if a is not None and b is not None:
            return a.minimum(b) if kind == "min" else a.maximum(b)
        return (a if a is not None else b) if (kind == "min") != least else None


def _atoms(dim: Dim) -> list[str]:
    return list(dict.fromkeys(atom for product, _ in dim.terms() for atom in product))


def other_symbols(atom: str) -> frozenset[str]:
    """The symbols inside of a division or an extremum."""
    parts = atom_operands(atom)
    return frozenset() if parts is None else parts[1].symbols() | parts[2].symbols()


def _split(dim: Dim, atom: str) -> tuple[Dim | None, Dim]:
    """An expression as factor * atom + others; no factor where the atom is multiplied by itself."""
    factor: dict[tuple[str, ...], int] = {}
    others: dict[tuple[str, ...], int] = {}
    for product, coefficient in dim.terms():
        if product.count(atom) > 1:
            return None, dim
        if atom in product:
            rest = list(product)
            rest.remove(atom)
            factor[tuple(rest)] = coefficient
        else:
            others[product] = coefficient
    return Dim(factor), Dim(others)


def _remainder(dim: Dim) -> tuple[int, int, Dim] | None:
    """The parts of factor * (x - by * (x floordiv by)) + rest; None without all its terms."""
    terms = dict(dim.terms())
    for product, coefficient in dim.terms():
        parts = atom_operands(product[0]) if len(product) == 1 else None
        if parts is None or parts[0] != "floordiv" or not parts[2].is_static:
            continue
        _, x, by = parts
        if by.value <= 1 or coefficient % by.value:
            continue
        factor = -coefficient // by.value
        if any(terms.get(m, 0) * c * factor <= 0 for m, c in x.terms() if m):
            continue
        rest = dim - (x - Dim({product: 1}) * by) * factor
        if len(rest.terms()) <= len(dim.terms()):
            return factor, by.value, rest
    return None
