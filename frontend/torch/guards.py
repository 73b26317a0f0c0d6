"""
Guards of exported programs, such as `(L['x'].size()[0] // 2) != 1`, as checks of the sizes of a call.

A guard is what torch assumed about sizes when it followed one branch of a program. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stepwell.dialects import graph
from stepwell.frontend.torch.expressions import UnknownExpression, combined
from stepwell.runtime.dims import MAX_EXPRESSION_CHARS, Dim
from stepwell.runtime.warned import warn

SizeOf = Callable[[str, int], Dim | None]
"""The size of an input, by its name and the number of a dimension; None if there is no such dimension."""
_PATH = r"(?:\['\w+'\]|\[\d+\]|\.\w+)"
_SIZE = re.compile(rf"L({_PATH}+?)\.size\(\)\[(\d+)\]")
_TOKEN = re.compile(rf"\s*({_SIZE.pattern}|\d+|[A-Za-z_]\w*|//|==|!=|<=|>=|[-+*%<>(),])")
_FUNCTIONS = {"max": "Max", "min": "Min", "Max": "Max", "Min": "Min", "Mod": "Mod", "FloorDiv": "FloorDiv"}
_MAX_DEPTH = 64


class GuardWarning(UserWarning):
    """A guard of a program that calls do not check."""


class Guard(NamedTuple):
    """A relation of two sizes."""

    left: Dim
    relation: str
    right: Dim

    def equal(self) -> tuple[Dim, Dim]:
        """Two sizes that are equal where the relation holds."""
        a, b, one = self.left, self.right, Dim.of(1)
        match self.relation:
            case "==":
                return a, b
            case "<=":
                return a.maximum(b), b
            case ">=":
                return b.maximum(a), a
            case "<":
                return (a + one).maximum(b), b
            case ">":
                return (b + one).maximum(a), a
            case _:
                difference = (a - b).maximum(b - a)
                return difference.maximum(one), difference


def guard_checks(guards: Sequence[str], size_of: SizeOf) -> Iterator[graph.AssertOp]:
    """
    The checks of guards, but for those that always hold, and for repeated ones.

    A guard that cannot be read is a warning.
    """
    seen = {Dim.of(0)}
    for text in guards:
        try:
            relations = parse_guard(text, size_of)
        except UnknownExpression as error:
            warn(f"calls do not check the guard {text}: {error}", GuardWarning)
            continue
        shown = _SIZE.sub(lambda size: str(_size(size, size_of)), text)
        message = f"the program was exported for sizes with {shown}; check_guards=False leaves this out"
        for left, right in (guard.equal() for guard in relations):
            if (difference := left - right) not in seen:
                seen |= {difference, right - left}
                yield graph.AssertOp(left, right, message)


def parse_guard(text: str, size_of: SizeOf) -> list[Guard]:
    """The relations that a guard asks for, all of them. Raises: UnknownExpression."""
    if len(text) > MAX_EXPRESSION_CHARS:
        raise UnknownExpression(f"it has {len(text)} characters")
    parser = _Parser(text, size_of)
    found = [parser.relation()]
    while parser.peek() == "and":
        parser.take()
        found.append(parser.relation())
    if parser.peek():
        raise UnknownExpression(f"unexpected {parser.peek()!r}")
    if any(len(str(side)) > MAX_EXPRESSION_CHARS for guard in found for side in guard.equal()):
        raise UnknownExpression("its sizes are too long")
    return found


class _Parser:
    """A parser by recursive descent, a function for each precedence."""

    def __init__(self, text: str, size_of: SizeOf):
        self._tokens, self._size_of = list(_tokens(text)), size_of
        self._at, self._depth = 0, 0

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, wanted: str = "") -> str:
        """The next token, `wanted` if given. Raises: UnknownExpression."""
        found = self.peek()
        if not found or (wanted and found != wanted):
            raise UnknownExpression(f"expected {wanted or 'more'!r}, found {found or 'the end'!r}")
        self._at += 1
        return found

    def relation(self) -> Guard:
        """Two sums with a relation between them."""
        left, relation = self._sum(), self.take()
        if relation not in ("==", "!=", "<", "<=", ">", ">="):
            raise UnknownExpression(f"{relation!r} is no relation")
        return Guard(left, relation, self._sum())

    def _sum(self) -> Dim:
        left = self._product()
        while self.peek() in ("+", "-"):
            left = left + self._product() if self.take() == "+" else left - self._product()
        return left

    def _product(self) -> Dim:
        left = self._factor()
        while self.peek() in ("*", "//", "%"):
            left = _applied(self.take(), left, self._factor())
        return left

    def _factor(self) -> Dim:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UnknownExpression("it nests too deeply")
        token = self.take()
        if token == "-":
            found = Dim.of(0) - self._factor()
        elif token.isdigit():
            found = Dim.of(int(token))
        elif token == "(":
            found = self._sum()
            self.take(")")
        else:
            found = self._call(token) if (size := _SIZE.fullmatch(token)) is None else self._size(size)
        self._depth -= 1
        return found

    def _size(self, size: re.Match[str]) -> Dim:
        if (found := _size(size, self._size_of)) is None:
            raise UnknownExpression(f"{size.group()} is no size of an input")
        return found

    def _call(self, name: str) -> Dim:
        """A function of sizes, after its name."""
        if name not in _FUNCTIONS:
            raise UnknownExpression(f"{name!r} is no function of sizes")
        self.take("(")
        operands = [self._sum()]
        while self.peek() == ",":
            self.take()
            operands.append(self._sum())
        self.take(")")
        return _called(_FUNCTIONS[name], operands)


def _size(size: re.Match[str], size_of: SizeOf) -> Dim | None:
    """The dimension of an input, such as `L['cache'][0].size()[1]`, for a match of it."""
    return size_of(".".join(re.findall(r"\w+", size[1])), int(size[2]))


def _applied(operator: str, left: Dim, right: Dim) -> Dim:
    if operator == "*":
        return left * right
    return _called("FloorDiv" if operator == "//" else "Mod", [left, right])


def _called(function: str, operands: Sequence[Dim]) -> Dim:
    """A function of sizes, where no size that is a divisor is 0. Raises: UnknownExpression."""
    if function in ("FloorDiv", "Mod") and len(operands) == 2 and not operands[1].is_static:
        operands = [operands[0], operands[1].maximum(Dim.of(1))]
    return combined(function, operands)


def _tokens(text: str) -> Iterator[str]:
    """The tokens of a guard. Raises: UnknownExpression."""
    position = 0
    while position < len(text.rstrip()):
        if (match := _TOKEN.match(text, position)) is None:
            raise UnknownExpression(f"unexpected {text[position : position + 20]!r}")
        position = match.end()
        yield match[1]
