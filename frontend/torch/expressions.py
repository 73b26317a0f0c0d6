"""Sizes of PyTorch programs, which are expressions of sympy as text, as dimensions; nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce

from stepwell.runtime.dims import MAX_EXPRESSION_CHARS, Dim

_TOKEN = re.compile(r"\s*(?:(-?\d+)|([A-Za-z_]\w*)|'([^']*)'|([(),=]))")
_MAX_DEPTH = 64


class UnknownExpression(ValueError):
    """A size that is no arithmetic of sizes that we know."""


def parse_expression(text: str) -> Dim:
    """
    A dimension from text such as `Add(Symbol('s77', positive=True, integer=True), Integer(1))`.

    Raises: UnknownExpression.
    """
    if len(text) > MAX_EXPRESSION_CHARS:
        raise UnknownExpression(f"a size is an expression of {len(text)} characters")
    tokens = _Tokens(text)
    result = _expression(tokens, 0)
    if tokens.peek() is not None:
        raise UnknownExpression(f"unexpected {tokens.peek()!r} in the size {text!r}")
    return result


def combined(function: str, operands: Sequence[Dim]) -> Dim:
    """The dimension that a function of sympy gives on dimensions. Raises: UnknownExpression."""
    match function, operands:
        case "Add", [_, *_]:
            return reduce(lambda a, b: a + b, operands)
        case "Mul", [_, *_]:
            return reduce(lambda a, b: a * b, operands)
        case "Pow", [base, exponent] if exponent.is_static and 0 < exponent.value <= 8:
            return reduce(lambda a, b: a * b, [base] * exponent.value)
        case "FloorDiv" | "CleanDiv", [a, b] if b != 0:
            return a // b
        case "Mod" | "PythonMod", [a, b] if b != 0:
            return a - b * (a // b)
        case "Max", [_, *_]:
            return reduce(lambda a, b: a.maximum(b), operands)
        case "Min", [_, *_]:
            return reduce(lambda a, b: a.minimum(b), operands)
        case "CeilToInt" | "TruncToInt" | "ToFloat" | "Identity", [a]:
            return a
        case _:
            raise UnknownExpression(f"the function {function} of {len(operands)} sizes is not supported")


class _Tokens:
    """The tokens of a text, one ahead."""

    def __init__(self, text: str):
        self._text = text
        self._tokens = self._scan()
        self._next = next(self._tokens, None)

    def _scan(self) -> Iterator[str | int]:
        position = 0
        while position < len(self._text.rstrip()):
            if (match := _TOKEN.match(self._text, position)) is None:
                raise UnknownExpression(f"unexpected {self._text[position : position + 20]!r} in a size")
            number, name, quoted, sign = match.groups()
            position = match.end()
            yield int(number) if number else f"'{quoted}" if quoted is not None else name or sign

    def peek(self) -> str | int | None:
        """The next token; None at the end."""
        return self._next

    def take(self) -> str | int:
        """The next token, removed. Raises: UnknownExpression at the end."""
        if (token := self._next) is None:
            raise UnknownExpression(f"the size {self._text!r} is cut off")
        self._next = next(self._tokens, None)
        return token

    def expect(self, token: str) -> None:
        """Remove a token that must come next. Raises: UnknownExpression."""
        if (found := self.take()) != token:
            raise UnknownExpression(f"expected {token!r} in the size {self._text!r}, found {found!r}")


def _expression(tokens: _Tokens, depth: int) -> Dim:
    if depth > _MAX_DEPTH:
        raise UnknownExpression("a size is an expression that nests too deeply")
    token = tokens.take()
    if isinstance(token, int):
        return Dim.of(token)
    tokens.expect("(")
    if token == "Symbol":
        return _symbol(tokens)
    operands = [_expression(tokens, depth + 1)]
    while (sign := tokens.take()) == ",":
        if tokens.peek() == "evaluate":
            _skip_keyword(tokens)
        else:
            operands.append(_expression(tokens, depth + 1))
    if sign != ")":
        raise UnknownExpression(f"expected ')' in a size, found {sign!r}")
    if token == "Integer" and len(operands) == 1:
        return operands[0]
    return combined(str(token), operands)


def _symbol(tokens: _Tokens) -> Dim:
    """The rest of a symbol: its name, and properties such as `positive=True`."""
    name = str(tokens.take())
    if not re.fullmatch(r"'[A-Za-z_]\w{0,63}", name):
        raise UnknownExpression(f"{name!r} is no name of a size")
    while (sign := tokens.take()) == ",":
        _skip_keyword(tokens)
    if sign != ")":
        raise UnknownExpression(f"expected ')' after a symbol, found {sign!r}")
    return Dim.symbol(name[1:])


def _skip_keyword(tokens: _Tokens) -> None:
    tokens.take()
    tokens.expect("=")
    tokens.take()
