"""Sizes with the length of growing states, which is data, and at most the capacity."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.expression_text import Algebra


class LengthBounds:
    """
    Upper bounds of the symbols of a length, which checks of `@main` state as it is visited.

    Buffers whose sizes grow with the length then have the offsets of the longest in the arena, so that calls
    of any length allocate nothing.
    """

    def __init__(self, length: SSAValue | None, known: frozenset[str]):
        """Args: `length` is the argument with the length; `known` are the symbols of inputs."""
        self._length, self._known = length, known
        self._symbols: set[str] = set()
        self._bounds: dict[str, Dim] = {}

    def visit(self, op: Operation) -> None:
        """Note the symbols of the length, and the bounds that a check gives them."""
        if isinstance(op, graph.BindSizesOp):
            if op.input is self._length:
                self._symbols |= {name for name, _ in defined_symbols(op)}
        elif isinstance(op, graph.CheckOffsetsOp):
            for offset, limit in zip(op.offsets.get(), op.limits.get(), strict=True):
                if str(offset) in self._symbols and limit.symbols() <= self._known:
                    self._bounds.setdefault(str(offset), limit)

    def most(self, size: Dim) -> Dim:
        """The most that a size can be; the size itself where no bound is known, or it does not rise."""
        bounded = {name: self._bounds[name] for name in size.symbols() if name in self._bounds}
        return size.substitute(bounded) if bounded and size.build(_symbol, _RISING).rises else size


class _Part(NamedTuple):
    """
    Whether a part of an expression is at least 0 and rises with all symbols; its value, if it is a number.
    """

    rises: bool
    number: int | None = None


def _symbol(name: str) -> _Part:
    return _Part(True)


def _both(a: _Part, b: _Part) -> _Part:
    return _Part(a.rises and b.rises)


def _quotient(a: _Part, b: _Part) -> _Part:
    """A quotient rises if the divisor is a number above 0."""
    return _Part(a.rises and b.number is not None and b.number > 0)


_RISING: Algebra[_Part] = Algebra(
    number=lambda n: _Part(n >= 0, n),
    add=_both,
    multiply=_both,
    floordiv=_quotient,
    ceildiv=_quotient,
    minimum=_both,
    maximum=_both,
)
