"""The analyzer: what ranges and multiples of symbols say about expressions of indices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from stepwell.runtime.dims import (
    INTEGERS_OF_ANY_SIGN,
    MAX_EXPRESSION_CHARS,
    SIZES,
    Dim,
    atom_operands,
    written_extremum,
)
from stepwell.runtime.integers.bijections import Bijection, Meeting, bijection_of
from stepwell.runtime.integers.congruences import Congruence, congruence_of
from stepwell.runtime.integers.expression_text import Algebra, syntax_of, value_of
from stepwell.runtime.integers.inequalities import Inequality, are_contradictory
from stepwell.runtime.integers.intervals import Intervals
from stepwell.runtime.integers.simplification import quotient, simplified

Bound: TypeAlias = "int | str | Dim | None"
"""A bound of a symbol: a number, an expression over symbols without a range, or None for no bound."""

_COMPARISON = re.compile(r"^(.*?)(<=|>=|==|<|>)(.*)$", re.DOTALL)
_SHIFTED = "{}_"


class Analyzer:
    """
    Answers about expressions of integers, `"i * 16 + j"`, in which `floordiv` and `mod` round down.

    Answers are true for all values of the symbols; an unknown answer is None. Symbols without a range are
    sizes, at least 0.
    """

    def __init__(
        self,
        ranges: Mapping[str, tuple[Bound, Bound]] | None = None,
        multiples: Mapping[str, int] | None = None,
    ):
        """
        Args: `ranges` are the least and the greatest value of symbols; `multiples` are numbers of which
        symbols are multiples.
        Raises: ValueError for what is no expression.
        """
        self._ranges = dict(ranges or {})
        self._multiples = dict(multiples or {})
        self._facts: list[Dim] = []
        self._values: dict[str, Dim] = {}
        """Each symbol by one that is at least 0."""
        self._highest: dict[str, Dim | None] = {}
        """The greatest value of each of those, over others; None where it has none."""
        for name, (low, high) in self._ranges.items():
            self._add(name, low, high)

    def _add(self, name: str, low: Bound, high: Bound) -> None:
        shifted = _SHIFTED.format(name)
        self._highest[shifted] = None
        if low is None and high is None:
            self._highest[f"{shifted}_"] = None
            self._values[name] = Dim.symbol(shifted) - Dim.symbol(f"{shifted}_")
        elif low is None:
            self._values[name] = self._dim(high) - Dim.symbol(shifted)
        else:
            start = self._dim(low)
            self._values[name] = start + Dim.symbol(shifted)
            self._highest[shifted] = None if high is None else self._dim(high) - start

    def assume(self, comparison: str) -> None:
        """Add what holds, such as `i + j < N`. Raises: ValueError for what is no comparison."""
        self._facts += self._differences(comparison)

    def bounds(self, expression: str | Dim) -> tuple[int | Dim | None, int | Dim | None]:
        """The least and the greatest value, as far as they are known."""
        low, high = self._intervals.of(self._dim(expression))
        return _plain(low), _plain(high)

    def modular(self, expression: str | Dim) -> tuple[int, int]:
        """A modulus and the remainder of all values; (0, n) for the number n, (1, 0) for any."""
        known = {name: Congruence(number, 0) for name, number in self._multiples.items() if number > 0}
        dim = _dim_of_text(str(expression), Dim.symbol, are_sizes=False)
        modulus, remainder = congruence_of(dim, known)
        return modulus, remainder

    def simplify(self, expression: str | Dim) -> Dim:
        """An equal expression, with fewer divisions and extrema where ranges decide about these."""
        written = _dim_of_text(str(expression), Dim.symbol, are_sizes=False)
        if any(self._ranges.get(name) == (None, None) for name in written.symbols()):
            return written  # nothing is known of such a symbol
        found = simplified(self._dim(expression), self._is_at_least_0, self._intervals.of)
        return found.build(self._original, _AS_WRITTEN)

    def proves(self, comparison: str) -> bool | None:
        """Whether a comparison holds for all values; False: for none; None: not known. Raises: ValueError."""
        differences = self._differences(comparison)
        if all(map(self._is_at_least_0, differences)):
            return True
        return False if any(self._is_at_least_0(-difference - 1) for difference in differences) else None

    def box(
        self, indices: Mapping[str, str | Dim], over: Sequence[str]
    ) -> dict[str, tuple[Dim | None, Dim | None]]:
        """For each index, its minimum over the values of symbols, and the number of values from there on."""
        inner = Analyzer({name: self._ranges[name] for name in over if name in self._ranges})
        found: dict[str, tuple[Dim | None, Dim | None]] = {}
        for name, index in indices.items():
            low, high = inner._intervals.of(inner._dim(index))
            found[name] = low, None if low is None or high is None else high - low + 1
        return found

    def bijection(self, indices: Sequence[str], extents: Mapping[str, int]) -> Bijection | Meeting | None:
        """
        The extents of indices under which different points have different positions; or two points that meet.

        Args: `extents` are the extents of the symbols, which run from 0.
        """
        return bijection_of([_dim_of_text(index, Dim.symbol) for index in indices], extents)

    @property
    def _intervals(self) -> Intervals:
        return Intervals(self._highest, self._is_linear_at_least_0)

    def _is_linear_at_least_0(self, dim: Dim) -> bool:
        return dim.is_nonnegative or self._is_contradictory(dim)

    def _is_at_least_0(self, dim: Dim) -> bool:
        """Whether an expression of symbols that are at least 0 is so too."""
        if dim.is_static:
            return dim.value >= 0
        if dim.is_nonnegative:
            return True
        if dim.is_unknown:
            return False
        low, _ = self._intervals.of(dim)
        if low is not None and low.is_static:
            if low.value >= 0:
                return True
        return self._is_contradictory(dim)

    def _is_contradictory(self, dim: Dim) -> bool:
        """Whether the expression cannot be below 0, by linear inequalities."""
        every = [-dim - 1, *self._facts]
        seen: set[str] = set()
        for expression in every:  # grows: what is known of an atom has further atoms
            for atom in (atom for product, _ in expression.terms() for atom in product):
                if atom not in seen:
                    seen.add(atom)
                    every += self._of_atom(atom)
        rows: list[Inequality] = [dict(expression.terms()) for expression in every]
        products = {m for row in rows for m in row if len(m) > 1 and all(map(_is_symbol, m))}
        return are_contradictory([*rows, *({m: 1} for m in products)])

    def _of_atom(self, atom: str) -> Iterator[Dim]:
        """Expressions that are at least 0, for the value of an atom."""
        value = Dim({(atom,): 1})
        match atom_operands(atom):
            case None:
                yield value
                if (high := self._highest.get(atom)) is not None:
                    yield high - value
            case ("floordiv", left, right) if right.is_static and right.value > 0:
                yield left - value * right
                yield value * right + (right - 1) - left
            case ("ceildiv", left, right) if right.is_static and right.value > 0:
                yield value * right - left
                yield left + (right - 1) - value * right
            case ("min", left, right):
                yield left - value
                yield right - value
            case ("max", left, right):
                yield value - left
                yield value - right
            case _:
                pass

    def _differences(self, comparison: str) -> list[Dim]:
        """Expressions that are all at least 0 exactly if a comparison holds."""
        if (match := _COMPARISON.match(comparison)) is None:
            raise ValueError(f"{comparison!r} is no comparison: write `a < b`, with < <= == >= or >")
        left, sign, right = match.groups()
        a, b = self._dim(left), self._dim(right)
        by_sign = {"<": [b - a - 1], "<=": [b - a], ">": [a - b - 1], ">=": [a - b], "==": [a - b, b - a]}
        return by_sign[sign]

    def _dim(self, expression: Bound) -> Dim:
        """An expression over symbols that are at least 0."""
        return _dim_of_text(str(expression), lambda name: self._values.get(name, Dim.symbol(name)))

    def _original(self, symbol: str) -> Dim:
        """A symbol from 0 on as an expression of the user's symbols."""
        name = symbol.rstrip("_")
        if symbol in self._ranges or name not in self._ranges:
            return Dim.symbol(symbol)
        low, high = self._ranges[name]
        given, end = Dim.symbol(name), high if low is None else low
        bound = _dim_of_text(str(end), Dim.symbol, are_sizes=False)
        return bound - given if low is None else given - bound


def _dim_of_text(text: str, symbol: Callable[[str], Dim], *, are_sizes: bool = True) -> Dim:
    """
    An expression of text with `symbol` for its names; `mod` is an operator as well: x - c * (x floordiv c).

    Args: without `are_sizes` the symbols may be negative, and extrema stay as they are written.
    Raises: ValueError when the text is no expression or is too long.
    """
    if len(text) > MAX_EXPRESSION_CHARS:
        raise ValueError(f"an expression of {len(text)} characters (at most {MAX_EXPRESSION_CHARS})")
    algebra = SIZES if are_sizes else INTEGERS_OF_ANY_SIGN
    try:
        return value_of(syntax_of(text.replace(" mod ", " @ ").strip()), symbol, algebra)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no expression of integers") from None


def _plain(dim: Dim | None) -> int | Dim | None:
    return dim.value if dim is not None and dim.is_static else dim


def _is_symbol(atom: str) -> bool:
    return atom_operands(atom) is None


_AS_WRITTEN: Algebra[Dim] = Algebra(
    number=Dim.of,
    add=lambda a, b: a + b,
    multiply=lambda a, b: a * b,
    floordiv=quotient,
    ceildiv=Dim.ceildiv,
    minimum=lambda a, b: written_extremum(a, b, "min"),
    maximum=lambda a, b: written_extremum(a, b, "max"),
)
