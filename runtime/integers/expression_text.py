"""Expressions of integers as text: the grammar, and the value of an expression in any algebra."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Algebra(Generic[T]):
    """The operations on some kind of value from which expressions are built."""

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

    def named(self, operation: str) -> Callable[[T, T], T]:
        """The operation that text calls `floordiv`, `ceildiv`, `min` or `max`."""
        named = {"floordiv": self.floordiv, "ceildiv": self.ceildiv, "min": self.minimum, "max": self.maximum}
        return named[operation]


INTEGERS: Algebra[int] = Algebra(
    number=int,
    add=lambda a, b: a + b,
    multiply=lambda a, b: a * b,
    floordiv=lambda a, b: a // b,
    ceildiv=lambda a, b: -(-a // b),
    minimum=min,
    maximum=max,
)


def syntax_of(text: str) -> ast.expr:
    """
    The syntax tree of an expression. While it is parsed, `//` and `%` of Python, which bind like `*`, replace
    `floordiv` and `ceildiv`.

    Raises: SyntaxError, ValueError, RecursionError or MemoryError when it cannot be parsed.
    """
    source = text.replace(" floordiv ", " // ").replace(" ceildiv ", " % ")
    return ast.parse(source, mode="eval").body


def value_of(node: ast.expr, symbol: Callable[[str], T], algebra: Algebra[T]) -> T:
    """
    The value of an expression in an algebra; `a @ b` is the remainder of a floor division.

    Args: `symbol` gives the value of a symbol by name.
    Raises: ValueError for other Python.
    """
    match node:
        case ast.Constant(value=int(number)):
            return algebra.number(number)
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _negative(value_of(operand, symbol, algebra), algebra)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = value_of(left, symbol, algebra), value_of(right, symbol, algebra)
            return _combined(op, a, b, algebra)
        case ast.Call(func=ast.Name(id="min" | "max" as kind), args=[left, right]):
            a, b = value_of(left, symbol, algebra), value_of(right, symbol, algebra)
            return algebra.named(kind)(a, b)
        case _:
            raise ValueError("unknown expression")


def _combined(op: ast.operator, a: T, b: T, algebra: Algebra[T]) -> T:
    match op:
        case ast.Add():
            return algebra.add(a, b)
        case ast.Sub():
            return algebra.add(a, _negative(b, algebra))
        case ast.Mult():
            return algebra.multiply(a, b)
        case ast.FloorDiv():
            return algebra.floordiv(a, b)
        case ast.Mod():
            return algebra.ceildiv(a, b)
        case ast.MatMult():
            return algebra.add(a, _negative(algebra.multiply(b, algebra.floordiv(a, b)), algebra))
        case _:
            raise ValueError("unknown operator")


def _negative(value: T, algebra: Algebra[T]) -> T:
    return algebra.multiply(algebra.number(-1), value)


def parts_of_atom(atom: str) -> tuple[str, ast.expr, ast.expr] | None:
    """The operation and the operands of a division or an extremum, as text has it; None for a symbol."""
    if not atom.startswith(("(", "min(", "max(")):
        return None
    match syntax_of(atom):
        case ast.BinOp(left=left, op=op, right=right):
            return ("floordiv" if isinstance(op, ast.FloorDiv) else "ceildiv", left, right)
        case ast.Call(func=ast.Name(id=kind), args=[left, right]):
            return kind, left, right
        case _:
            return None


def symbol_name(text: str) -> str:
    """A legal symbol for the name that a model gives to a dimension: `batch size` becomes `batch_size`."""
    name = "".join(c if c.isalnum() and c.isascii() or c == "_" else "_" for c in text) or "_"
    name = name if not name[0].isdigit() else f"_{name}"
    return f"{name}_" if name in ("floordiv", "ceildiv", "min", "max") or keyword.iskeyword(name) else name
