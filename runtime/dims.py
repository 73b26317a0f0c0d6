"""
Dimension expressions: numbers, named symbols and the arithmetic that shapes need.

A dimension is written as text in a tensor's encoding, `#graph.dims<["N", 4, "S + P"]>`, and as a `Dim` in
Python. Expressions are stored as polynomials over atoms with integer coefficients, so that `N + N` is `2 * N`
and equal expressions are equal objects; floor and ceiling division, min and max are opaque atoms.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import TypeVar

from stepwell.runtime.integers.expression_text import INTEGERS, Algebra, parts_of_atom, syntax_of, value_of
from stepwell.runtime.integers.polynomials import Monomial, Terms, exact_quotient, product_of, sum_of, text_of

T = TypeVar("T")

MAX_EXPRESSION_CHARS = 4096  # dimension text comes from files: bounded before it is parsed
UNKNOWN = "?"


class Dim:
    """
    An immutable dimension expression; build with `Dim.of`, combine with `+ - * //`, `ceildiv`, `minimum`,
    `maximum`.
    """

    __slots__ = ("_hash", "_number", "_terms")

    def __init__(self, terms: Mapping[Monomial, int]):
        self._terms = tuple(sorted((m, c) for m, c in terms.items() if c != 0))
        self._hash = hash(self._terms)
        self._number: int | None = None  # asked for more often than anything else
        if not self._terms:
            self._number = 0
        elif len(self._terms) == 1 and not self._terms[0][0]:
            self._number = self._terms[0][1]

    @staticmethod
    def of(value: int | str | Dim) -> Dim:
        """
        A dimension from a number, an expression as text (`"2 * N + 1"`, `"N floordiv 2"`) or itself.

        Raises: ValueError when the text is no dimension expression or is too long.
        """
        if isinstance(value, Dim):
            return value
        if isinstance(value, int):
            return _number(int(value))
        return _parse(value)

    @staticmethod
    def symbol(name: str) -> Dim:
        """The dimension named `name`; `?` is the unknown dimension, which cannot be proved equal to any."""
        return Dim({(name,): 1})

    @property
    def is_static(self) -> bool:
        """Whether the expression is a plain number."""
        return self._number is not None

    @property
    def is_unknown(self) -> bool:
        """Whether an anonymous `?` occurs in the expression, so that nothing can be proved."""
        return self._number is None and any(UNKNOWN in atom for m, _ in self._terms for atom in m)

    @property
    def value(self) -> int:
        """The number. Raises: ValueError when it is symbolic."""
        if self._number is None:
            raise ValueError(f"dimension {self} is symbolic")
        return self._number

    def terms(self) -> Terms:
        """The sum: each product of atoms, which are symbols and divisions as text, with its coefficient."""
        return self._terms

    def symbols(self) -> frozenset[str]:
        """Names of all symbols in the expression."""
        names: set[str] = set()
        for monomial, _ in self._terms:
            for atom in monomial:
                names |= _atom_symbols(atom)
        return frozenset(names)

    def proves_equal(self, other: int | Dim) -> bool:
        """Whether both are provably the same number for every value of the symbols."""
        other = Dim.of(other)
        return not self.is_unknown and self == other

    @property
    def is_nonnegative(self) -> bool:
        """Whether the expression is provably at least 0, given that symbols are sizes."""
        least = self.least()
        return least is not None and least >= 0

    def least(self) -> int | None:
        """A lower bound of the expression, or None: 0 for 8 * ((N - 1) floordiv 32) + 8."""
        if self._number is not None:
            return self._number
        total = 0
        for monomial, coefficient in self._terms:
            factors = [_least_of_atom(atom) for atom in monomial]
            if any(f is None for f in factors) or (monomial and coefficient < 0):
                return None
            known = [f for f in factors if f is not None]
            if len(known) > 1 and min(known) < 0:
                return None
            total += coefficient * prod(known)
        return total

    def evaluate(self, symbols: Mapping[str, int]) -> int:
        """The number for given symbol values. Raises: KeyError when a symbol has none."""
        return self.build(symbols.__getitem__, INTEGERS)

    def substitute(self, symbols: Mapping[str, Dim]) -> Dim:
        """The expression with symbols replaced; symbols that are not in the map are unchanged."""
        if not (self.symbols() & symbols.keys()):
            return self
        return self.build(lambda name: symbols.get(name, Dim.symbol(name)), _EXPRESSIONS)

    def build(self, symbol: Callable[[str], T], algebra: Algebra[T]) -> T:
        """
        The expression rebuilt in another algebra: on numbers, on expressions, on SSA values.

        Args: `symbol` gives the value of a symbol by name.
        """
        total: T | None = None
        for monomial, coefficient in self._terms:
            factors = [_build_atom(atom, symbol, algebra) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.append(algebra.number(coefficient))
            product = reduce(algebra.multiply, factors)
            total = product if total is None else algebra.add(total, product)
        return algebra.number(0) if total is None else total

    def __add__(self, other: int | Dim) -> Dim:
        other = Dim.of(other)
        if self._number is not None and other._number is not None:
            return _number(self._number + other._number)
        if self.is_unknown or other.is_unknown:
            return Dim.symbol(UNKNOWN)  # two unknowns are not one: `? - ?` is not 0
        return Dim(sum_of(self._terms, other._terms))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        if self._number is not None:
            return _number(-self._number)
        if self.is_unknown:
            return self
        return Dim({m: -c for m, c in self._terms})

    def __sub__(self, other: int | Dim) -> Dim:
        return self + -Dim.of(other)

    def __rsub__(self, other: int | Dim) -> Dim:
        return Dim.of(other) - self

    def __mul__(self, other: int | Dim) -> Dim:
        other = Dim.of(other)
        if self._number is not None and other._number is not None:
            return _number(self._number * other._number)
        if (self.is_unknown or other.is_unknown) and self != 0 and other != 0:
            return Dim.symbol(UNKNOWN)
        return Dim(product_of(self._terms, other._terms))

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Dim) -> Dim:
        return _divide(self, Dim.of(other), "floordiv")

    def ceildiv(self, other: int | Dim) -> Dim:
        """⌈self / other⌉."""
        return _divide(self, Dim.of(other), "ceildiv")

    def minimum(self, other: int | Dim) -> Dim:
        """The smaller of both."""
        return _extremum(self, Dim.of(other), "min")

    def maximum(self, other: int | Dim) -> Dim:
        """The greater of both."""
        return _extremum(self, Dim.of(other), "max")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self._number == other
        return isinstance(other, Dim) and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return text_of(self._terms) if self._number is None else str(self._number)

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"


def _divide(a: Dim, b: Dim, kind: str) -> Dim:
    if a.is_unknown or b.is_unknown:
        return a if b == 1 else Dim.symbol(UNKNOWN)
    if a.is_static and b.is_static and b.value != 0:
        return Dim.of(a.value // b.value if kind == "floordiv" else -(-a.value // b.value))
    if b == 1:
        return a
    if b.is_static and b.value > 0:
        # Exact part out of the division: (4N + 3) floordiv 4 = N + 3 floordiv 4.
        exact = {m: c // b.value for m, c in a.terms() if c % b.value == 0}
        rest = Dim({m: c for m, c in a.terms() if c % b.value != 0})
        if rest.is_static or exact:
            return Dim(exact) + _divide(rest, b, kind)
    quotient = _exact_quotient(a, b)
    if quotient is not None:
        return quotient
    if (merged := _nested_quotient(a, b, kind)) is not None:
        return merged
    return Dim.symbol(f"({_parenthesized(a)} {kind} {_parenthesized(b)})")


def _nested_quotient(a: Dim, b: Dim, kind: str) -> Dim | None:
    """(x / d + c) / b as (x + c * d) / (d * b), both rounded the same way, for positive numbers d and b."""
    constant = sum(c for m, c in a.terms() if m == ())
    atoms = [(m, c) for m, c in a.terms() if m != ()]
    if len(atoms) != 1 or atoms[0][1] != 1 or len(atoms[0][0]) != 1 or not (b.is_static and b.value > 0):
        return None
    inner = atom_operands(atoms[0][0][0])
    if inner is None or inner[0] != kind or not (inner[2].is_static and inner[2].value > 0):
        return None
    _, x, d = inner
    return _divide(x + d * constant, d * b, kind)


def _parenthesized(dim: Dim) -> str:
    text = str(dim)
    return text if text.replace("_", "").isalnum() else f"({text})"


def _exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """a / b for a monomial b that divides every term of a, or for equal ones; else None."""
    match b.terms():
        case ((divisor, by),):
            terms = exact_quotient(a.terms(), divisor, by)
            return None if terms is None else Dim(terms)
        case _:
            return Dim.of(1) if a == b else None


def _extremum(a: Dim, b: Dim, kind: str) -> Dim:
    difference = a - b
    if difference.is_unknown:
        return difference
    if difference.is_nonnegative:
        return b if kind == "min" else a
    if (-difference).is_nonnegative:
        return a if kind == "min" else b
    if _repeats(a, b, kind):
        return b
    if _repeats(b, a, kind):
        return a
    low, high = sorted((str(a), str(b)))
    return Dim.symbol(f"{kind}({low}, {high})")


def _repeats(a: Dim, b: Dim, kind: str) -> bool:
    """Whether b is an extremum of the same kind with the operand a: min(a, min(a, c)) is min(a, c)."""
    match b.terms():
        case (((atom,), 1),):
            parts = atom_operands(atom)
            return parts is not None and parts[0] == kind and a in parts[1:]
        case _:
            return False


@lru_cache(maxsize=65536)
def _number(value: int) -> Dim:
    return Dim({(): value})


@lru_cache(maxsize=65536)
def _parse(text: str) -> Dim:
    if len(text) > MAX_EXPRESSION_CHARS:
        raise ValueError(f"dimension expression of {len(text)} characters (at most {MAX_EXPRESSION_CHARS})")
    if text == UNKNOWN or (text.isidentifier() and text not in ("floordiv", "ceildiv")):
        return Dim.symbol(text)
    try:
        return value_of(syntax_of(text), Dim.symbol, SIZES)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"{text!r} is no dimension expression: symbols are identifiers, "
            "the operators are + - * floordiv ceildiv min max"
        ) from None


def same_dims(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes are equal for all sizes of their symbols."""
    return len(a) == len(b) and all(x.proves_equal(y) for x, y in zip(a, b, strict=True))


def written_extremum(a: Dim, b: Dim, kind: str) -> Dim:
    """An extremum of two expressions of which nothing says which is less."""
    if a.is_static and b.is_static:
        return Dim.of((min if kind == "min" else max)(a.value, b.value))
    low, high = sorted((str(a), str(b)))
    return Dim.symbol(f"{kind}({low}, {high})")


def _expanded(a: Dim, b: Dim) -> Dim:
    """a * b. Raises: ValueError for more terms than a size has: 40 sums in a row have a million million."""
    if len(a.terms()) * len(b.terms()) > MAX_EXPRESSION_CHARS:
        raise ValueError("too many terms")
    return a * b


@lru_cache(maxsize=65536)
def atom_operands(atom: str) -> tuple[str, Dim, Dim] | None:
    """The operation and the operands of an atom; None for a symbol."""
    if (parts := parts_of_atom(atom)) is None:
        return None
    kind, left, right = parts
    return kind, _part(left), _part(right)


def _part(node: ast.expr) -> Dim:
    """A part of an atom; its extrema are as they are, since nothing simplified them before."""
    return value_of(node, Dim.symbol, INTEGERS_OF_ANY_SIGN)


def _atom_symbols(atom: str) -> frozenset[str]:
    parts = atom_operands(atom)
    return frozenset([atom]) if parts is None else parts[1].symbols() | parts[2].symbols()


def _least_of_atom(atom: str) -> int | None:
    parts = atom_operands(atom)
    if parts is None:
        return None if atom == UNKNOWN else 0
    kind, left, right = parts
    least, other = left.least(), right.least()
    if kind == "max":
        return max((n for n in (least, other) if n is not None), default=None)
    if least is None or other is None:
        return None
    if kind == "min":
        return min(least, other)
    if right.is_static and other > 0:
        return least // other if kind == "floordiv" else -(-least // other)
    return 0 if least >= 0 and other >= 0 else None


def _build_atom(atom: str, symbol: Callable[[str], T], algebra: Algebra[T]) -> T:
    parts = atom_operands(atom)
    if parts is None:
        return symbol(atom)
    kind, left, right = parts
    return algebra.named(kind)(left.build(symbol, algebra), right.build(symbol, algebra))


def _expressions(
    multiply: Callable[[Dim, Dim], Dim], extremum: Callable[[Dim, Dim, str], Dim]
) -> Algebra[Dim]:
    """An algebra of expressions, by its products and extrema."""
    return Algebra(
        number=Dim.of,
        add=lambda a, b: a + b,
        multiply=multiply,
        floordiv=lambda a, b: a // b,
        ceildiv=Dim.ceildiv,
        minimum=lambda a, b: extremum(a, b, "min"),
        maximum=lambda a, b: extremum(a, b, "max"),
    )


_EXPRESSIONS = _expressions(lambda a, b: a * b, _extremum)
SIZES = _expressions(_expanded, _extremum)
"""Expressions as text has them, over symbols that are at least 0."""
INTEGERS_OF_ANY_SIGN = _expressions(_expanded, written_extremum)
"""The same over symbols that may be negative: extrema stay as they are written."""
