"""Maps of indices that give each point a place of its own: by digits of a mixed radix, or by all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from stepwell.runtime.dims import Dim, atom_operands

_MOST_POINTS = 1 << 14


class Bijection(NamedTuple):
    """A map under which no two points meet."""

    extents: tuple[int, ...]
    """The extents of the places: each index is less than its own."""
    is_onto: bool
    """Whether each place is one of a point; otherwise some are padding."""


class Meeting(NamedTuple):
    """Two points that a map sends to one place."""

    first: Mapping[str, int]
    second: Mapping[str, int]


class _Digit(NamedTuple):
    """The digit (x floordiv stride) mod base of a symbol; without a base, all digits from the stride on."""

    symbol: str
    stride: int
    base: int | None


def bijection_of(indices: Sequence[Dim], extents: Mapping[str, int]) -> Bijection | Meeting | None:
    """Whether indices over symbols from 0 send points to places of their own; None: not known."""
    if prod(extents.values()) <= _MOST_POINTS:
        return _by_points(indices, extents)
    digits = [_digit(index) for index in indices]
    known = [digit for digit in digits if digit is not None]
    if len(known) < len(digits) or not _are_all(known, extents):
        return _first_meeting(indices, extents)
    sizes = tuple(_extent(digit, extents) for digit in known)
    return Bijection(sizes, prod(sizes) == prod(extents.values()))


def _by_points(indices: Sequence[Dim], extents: Mapping[str, int]) -> Bijection | Meeting | None:
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    highest = [-1] * len(indices)
    for point in product(*map(range, extents.values())):
        values = dict(zip(extents, point, strict=True))
        place = tuple(index.evaluate(values) for index in indices)
        if any(at < 0 for at in place):
            return None
        if (other := seen.setdefault(place, point)) is not point:
            return Meeting(dict(zip(extents, other, strict=True)), values)
        highest = [max(a, b) for a, b in zip(highest, place, strict=True)]
    sizes = tuple(at + 1 for at in highest)
    return Bijection(sizes, prod(sizes) == len(seen))


def _first_meeting(indices: Sequence[Dim], extents: Mapping[str, int]) -> Meeting | None:
    """Two points that meet among the first of each symbol."""
    few = max(2, int(_MOST_POINTS ** (1 / max(1, len(extents)))))
    found = _by_points(indices, {name: min(extent, few) for name, extent in extents.items()})
    return found if isinstance(found, Meeting) else None


def _digit(index: Dim) -> _Digit | None:
    """An index as a digit of a symbol."""
    terms = index.terms()
    if len(terms) == 1 and len(terms[0][0]) == 1 and terms[0][1] == 1:
        return _quotient(terms[0][0][0])
    if len(terms) != 2 or any(len(m) != 1 for m, _ in terms):
        return None
    high = next((m[0] for m, c in terms if c < 0), None)
    low = next((m[0] for m, c in terms if c == 1), None)
    if high is None or low is None:
        return None
    base = -next(c for m, c in terms if m[0] == high)
    a, b = _quotient(low), _quotient(high)
    if a is None or b is None or a.symbol != b.symbol or b.stride != a.stride * base:
        return None
    return _Digit(a.symbol, a.stride, base)


def _quotient(atom: str) -> _Digit | None:
    match atom_operands(atom):
        case None:
            return _Digit(atom, 1, None)
        case ("floordiv", x, by) if by.is_static and by.value > 0:
            terms = x.terms()
            if (
                len(terms) == 1
                and terms[0][1] == 1
                and len(terms[0][0]) == 1
                and terms[0][0][0].isidentifier()
            ):
                return _Digit(terms[0][0][0], by.value, None)
            return None
        case _:
            return None


def _are_all(digits: Sequence[_Digit], extents: Mapping[str, int]) -> bool:
    """Whether digits are all those of each symbol, each once."""
    for symbol, extent in extents.items():
        stride = 1
        for digit in sorted(d for d in digits if d.symbol == symbol and d.base is not None):
            if digit.stride != stride:
                return False
            stride *= digit.base or 1
        last = [d for d in digits if d.symbol == symbol and d.base is None]
        if len(last) > 1 or (last and last[0].stride != stride) or (not last and stride < extent):
            return False
    return True


def _extent(digit: _Digit, extents: Mapping[str, int]) -> int:
    highest = (extents[digit.symbol] - 1) // digit.stride
    return highest + 1 if digit.base is None else min(highest + 1, digit.base)
