"""
Dimension expressions: numbers, named symbols and the arithmetic that shapes need.

A dimension is written as text in a tensor's encoding, `#graph.dims<["N", 4, "S + P"]>`, and as a `Dim` in
Python. Expressions are stored as polynomials over atoms with integer coefficients, so that `N + N` is `2 * N`
and equal expressions are equal objects; floor and ceiling division, min and max are opaque atoms.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")

# A monomial is a sorted tuple of atom texts (with repetition); a polynomial maps monomials to coefficients.
_Monomial: TypeAlias = tuple[str, ...]

MAX_EXPRESSION_CHARS = 4096  # dimension text comes from files: bounded before it is parsed
UNKNOWN = "?"


class Algebra(Generic[T]):
    """The operations that `Dim.build` needs on some kind of value."""

    def __init__(
        self,
        number: Callable[[int], T],
        add: Callable[[T, T], T],
        multiply: Callable[[T, T], T],
        floordiv: Callable[[T, T], T],
        ceildiv: Callable[[T, T], T],
        minimum: Callable[[T, T], T],
        maximum: Callable[[T, T], T],
    ):
        self.number, self.add, self.multiply = number, add, multiply
        self.floordiv, self.ceildiv, self.minimum, self.maximum = floordiv, ceildiv, minimum, maximum


class Dim:
    """
    An immutable dimension expression; build with `Dim.of`, combine with `+ - * //`, `ceildiv`, `minimum`,
    `maximum`.
    """

    __slots__ = ("_hash", "_number", "_terms")

    def __init__(self, terms: Mapping[_Monomial, int]):
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

    @property
    def summands(self) -> list[str]:
        """Texts short enough for `of`, as few as there are, with the expression as their sum."""
        texts: list[str] = []
        part: dict[_Monomial, int] = {}
        for monomial, coefficient in self._terms:
            longer = {**part, monomial: coefficient}
            if part and len(str(Dim(longer))) > MAX_EXPRESSION_CHARS:
                texts.append(str(Dim(part)))
                longer = {monomial: coefficient}
            part = longer
        return [*texts, str(Dim(part))]

    def to_json(self) -> str | list[str]:
        """The expression as a text, or its summands where one text would be too long for `of`."""
        texts = self.summands
        return texts[0] if len(texts) == 1 else texts

    @staticmethod
    def of_summands(texts: Sequence[str]) -> Dim:
        """The sum of expressions, each a text. Raises: ValueError, as `of`."""
        return sum(map(Dim.of, texts), Dim.of(0))

    def terms(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """The sum: each product of atoms, which are symbols and divisions as text, with its coefficient."""
        return self._terms

    def symbols(self) -> frozenset[str]:
        """Names of all symbols in the expression."""
        names: set[str] = set()
        for monomial, _ in self._terms:
            for atom in monomial:
                names |= _atom_symbols(atom)
        return frozenset(names)

    @property
    def is_quotient(self) -> bool:
        """
        Whether the expression is a single floor division of a product, as the inferred extent of a reshape
        is.
        """
        if len(self._terms) != 1 or self._terms[0][1] != 1 or len(self._terms[0][0]) != 1:
            return False
        parts = _operands(self._terms[0][0][0])
        return parts is not None and parts[0] == "floordiv" and len(parts[1]._terms) == 1

    def proves_equal(self, other: int | Dim) -> bool:
        """Whether both are provably the same number for every value of the symbols."""
        other = Dim.of(other)
        return not self.is_unknown and self == other

    @property
    def is_nonnegative(self) -> bool:
        """Whether the expression is provably at least 0, given that symbols are sizes."""
        least = self._least()
        return least is not None and least >= 0

    def is_at_most(self, other: Dim) -> bool:
        """Whether the expression is provably at most another one, as min(N, p) is at most N."""
        if (other - self).is_nonnegative:
            return True
        match self._terms:
            case (((atom,), 1),):
                parts = _operands(atom)
                return parts is not None and parts[0] == "min" and any(p.is_at_most(other) for p in parts[1:])
            case _:
                return False

    def _least(self) -> int | None:
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
        return self.build(symbols.__getitem__, _INTEGERS)

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
        terms = dict(self._terms)
        for monomial, coefficient in other._terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Dim(terms)

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
        terms: dict[_Monomial, int] = {}
        for m1, c1 in self._terms:
            for m2, c2 in other._terms:
                monomial = tuple(sorted(m1 + m2))
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return Dim(terms)

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
        if self.is_static:
            return str(self.value)
        # Symbols before the constant, so that text reads `N + 1`.
        ordered = sorted(self._terms, key=lambda term: (term[0] == (), term[0]))
        text = ""
        for monomial, coefficient in ordered:
            factors = list(monomial)
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = " - " if coefficient < 0 else " + "
            text += (sign if text else ("-" if coefficient < 0 else "")) + " * ".join(factors)
        return text

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
        exact = {m: c // b.value for m, c in a._terms if c % b.value == 0}  # pyright: ignore[reportPrivateUsage]
        rest = Dim({m: c for m, c in a._terms if c % b.value != 0})  # pyright: ignore[reportPrivateUsage]
        if rest.is_static:
            return Dim(exact) + _divide(rest, b, kind)
        if exact:
            return Dim(exact) + _divide(rest, b, kind)
    quotient = _exact_quotient(a, b)
    if quotient is not None:
        return quotient
    if (merged := _nested_quotient(a, b, kind)) is not None:
        return merged
    return Dim.symbol(f"({_parenthesized(a)} {kind} {_parenthesized(b)})")


def _nested_quotient(a: Dim, b: Dim, kind: str) -> Dim | None:
    """(x / d + c) / b as (x + c * d) / (d * b), both rounded the same way, for positive numbers d and b."""
    constant = sum(c for m, c in a._terms if m == ())  # pyright: ignore[reportPrivateUsage]
    atoms = [(m, c) for m, c in a._terms if m != ()]  # pyright: ignore[reportPrivateUsage]
    if len(atoms) != 1 or atoms[0][1] != 1 or len(atoms[0][0]) != 1 or not (b.is_static and b.value > 0):
        return None
    inner = _operands(atoms[0][0][0])
    if inner is None or inner[0] != kind or not (inner[2].is_static and inner[2].value > 0):
        return None
    _, x, d = inner
    return _divide(x + d * constant, d * b, kind)


def _parenthesized(dim: Dim) -> str:
    text = str(dim)
    return text if text.replace("_", "").isalnum() else f"({text})"


def _exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """a / b for a monomial b that divides every term of a, such as (4 * N * S) / (2 * N); else None."""
    divisor_terms = b._terms  # pyright: ignore[reportPrivateUsage]
    if len(divisor_terms) != 1:
        return Dim.of(1) if a == b else None
    divisor, by = divisor_terms[0]
    result: dict[_Monomial, int] = {}
    for monomial, coefficient in a._terms:  # pyright: ignore[reportPrivateUsage]
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if by == 0 or coefficient % by:
            return None
        result[tuple(rest)] = coefficient // by
    return Dim(result)


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
    match b._terms:  # pyright: ignore[reportPrivateUsage]
        case (((atom,), 1),):
            parts = _operands(atom)
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
        # `floordiv` and `ceildiv` bind like `*`: Python's `//` and `%` replace them while parsing.
        source = text.replace(" floordiv ", " // ").replace(" ceildiv ", " % ")
        return _from_ast(ast.parse(source, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"{text!r} is no dimension expression: symbols are identifiers, "
            "the operators are + - * floordiv ceildiv min max"
        ) from None


def same_dims(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes are equal for all sizes of their symbols."""
    return len(a) == len(b) and all(x.proves_equal(y) for x, y in zip(a, b, strict=True))


def symbol_name(text: str) -> str:
    """A legal symbol for the name that a model gives to a dimension: `batch size` becomes `batch_size`."""
    name = "".join(c if c.isalnum() and c.isascii() or c == "_" else "_" for c in text) or "_"
    name = name if not name[0].isdigit() else f"_{name}"
    return f"{name}_" if name in ("floordiv", "ceildiv", "min", "max") or keyword.iskeyword(name) else name


def dim_of_text(text: str, symbol: Callable[[str], Dim], *, are_sizes: bool = True) -> Dim:
    """
    An expression of text with `symbol` for its names; `mod` is an operator as well: x - c * (x floordiv c).

    Args: without `are_sizes` the symbols may be negative, and extrema stay as they are written.
    Raises: ValueError when the text is no expression or is too long.
    """
    if len(text) > MAX_EXPRESSION_CHARS:
        raise ValueError(f"an expression of {len(text)} characters (at most {MAX_EXPRESSION_CHARS})")
    source = text
    for word, sign in (("floordiv", "//"), ("ceildiv", "%"), ("mod", "@")):
        source = source.replace(f" {word} ", f" {sign} ")
    try:
        extremum = _extremum if are_sizes else written_extremum
        return _from_ast(ast.parse(source.strip(), mode="eval").body, symbol, extremum)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no expression of integers") from None


def written_extremum(a: Dim, b: Dim, kind: str) -> Dim:
    """An extremum of two expressions of which nothing says which is less."""
    if a.is_static and b.is_static:
        return Dim.of((min if kind == "min" else max)(a.value, b.value))
    low, high = sorted((str(a), str(b)))
    return Dim.symbol(f"{kind}({low}, {high})")


def _from_ast(
    node: ast.expr,
    symbol: Callable[[str], Dim] = Dim.symbol,
    extremum: Callable[[Dim, Dim, str], Dim] | None = None,
) -> Dim:
    match node:
        case ast.Constant(value=int(number)):
            return Dim.of(number)
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_from_ast(operand, symbol, extremum)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _from_ast(left, symbol, extremum), _from_ast(right, symbol, extremum)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return _expanded(a, b)
                case ast.FloorDiv():
                    return a // b
                case ast.Mod():
                    return a.ceildiv(b)
                case ast.MatMult():
                    return a - b * (a // b)
                case _:
                    raise ValueError("unknown operator")
        case ast.Call(func=ast.Name(id="min" | "max" as kind), args=[left, right]):
            a, b = _from_ast(left, symbol, extremum), _from_ast(right, symbol, extremum)
            return (extremum or _extremum)(a, b, kind)
        case _:
            raise ValueError("unknown expression")


def _expanded(a: Dim, b: Dim) -> Dim:
    """a * b. Raises: ValueError for more terms than a size has: 40 sums in a row have a million million."""
    terms = len(a._terms) * len(b._terms)  # pyright: ignore[reportPrivateUsage]
    if terms > MAX_EXPRESSION_CHARS:
        raise ValueError("too many terms")
    return a * b


def _compound(atom: str) -> ast.expr | None:
    """
    The syntax tree of an atom that is an expression (a division or an extremum); None for a plain symbol.
    """
    if not atom.startswith(("(", "min(", "max(")):
        return None
    return ast.parse(atom.replace(" floordiv ", " // ").replace(" ceildiv ", " % "), mode="eval").body


def atom_operands(atom: str) -> tuple[str, Dim, Dim] | None:
    """The operation and the operands of an atom; None for a symbol."""
    return _operands(atom)


@lru_cache(maxsize=65536)
def _operands(atom: str) -> tuple[str, Dim, Dim] | None:
    match _compound(atom):
        case ast.BinOp(left=left, op=op, right=right):
            return ("floordiv" if isinstance(op, ast.FloorDiv) else "ceildiv", _part(left), _part(right))
        case ast.Call(func=ast.Name(id=kind), args=[left, right]):
            return (kind, _part(left), _part(right))
        case _:
            return None


def _part(node: ast.expr) -> Dim:
    """A part of an atom; its extrema are as they are, since nothing simplified them before."""
    return _from_ast(node, Dim.symbol, written_extremum)


def _atom_symbols(atom: str) -> frozenset[str]:
    parts = _operands(atom)
    return frozenset([atom]) if parts is None else parts[1].symbols() | parts[2].symbols()


def _least_of_atom(atom: str) -> int | None:
    parts = _operands(atom)
    if parts is None:
        return None if atom == UNKNOWN else 0
    kind, left, right = parts
    least, other = left._least(), right._least()  # pyright: ignore[reportPrivateUsage]
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
    parts = _operands(atom)
    if parts is None:
        return symbol(atom)
    kind, left, right = parts
    operation = {
        "floordiv": algebra.floordiv,
        "ceildiv": algebra.ceildiv,
        "min": algebra.minimum,
        "max": algebra.maximum,
    }[kind]
    return operation(left.build(symbol, algebra), right.build(symbol, algebra))


_INTEGERS: Algebra[int] = Algebra(
    number=int,
    add=lambda a, b: a + b,
    multiply=lambda a, b: a * b,
    floordiv=lambda a, b: a // b,
    ceildiv=lambda a, b: -(-a // b),
    minimum=min,
    maximum=max,
)
_EXPRESSIONS: Algebra[Dim] = Algebra(
    number=Dim.of,
    add=lambda a, b: a + b,
    multiply=lambda a, b: a * b,
    floordiv=lambda a, b: a // b,
    ceildiv=Dim.ceildiv,
    minimum=Dim.minimum,
    maximum=Dim.maximum,
)
