"""Dimension expressions as index arithmetic: what a shape needs at run time, in `arith` ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from stepwell.runtime.dims import Algebra, Dim

_INDEX = IndexType()


class ExtentBuilder:
    """
    Builds `index` values for dimension expressions, each expression once.

    Args: `symbols` maps symbol names to `index` values that dominate the builder's insertion point.
    """

    def __init__(self, builder: Builder, symbols: Mapping[str, SSAValue]):
        self._builder = builder
        self._symbols = symbols
        self._built: dict[Dim, SSAValue] = {}
        self._algebra: Algebra[SSAValue] = Algebra(
            number=self._number,
            add=lambda a, b: self._insert(arith.AddiOp(a, b)),
            multiply=lambda a, b: self._insert(arith.MuliOp(a, b)),
            floordiv=lambda a, b: self._insert(arith.FloorDivSIOp(a, b)),
            ceildiv=lambda a, b: self._insert(arith.CeilDivSIOp(a, b)),
            minimum=lambda a, b: self._insert(arith.MinSIOp(a, b)),
            maximum=lambda a, b: self._insert(arith.MaxSIOp(a, b)),
        )

    def scope(self, builder: Builder) -> ExtentBuilder:
        """A copy for a nested region: it starts from the extents built so far, and does not add to them."""
        inner = ExtentBuilder(builder, self._symbols)
        inner._built = dict(self._built)
        return inner

    def extent(self, dim: Dim | int) -> SSAValue:
        """The value of a dimension. Raises: KeyError when a symbol of it has no value here."""
        dim = Dim.of(dim)
        if dim not in self._built:
            symbol: Callable[[str], SSAValue] = self._symbols.__getitem__
            self._built[dim] = dim.build(symbol, self._algebra)
        return self._built[dim]

    def _number(self, value: int) -> SSAValue:
        # Recursion of `build` asks for the same numbers again and again.
        dim = Dim.of(value)
        if dim not in self._built:
            self._built[dim] = self._insert(arith.ConstantOp(IntegerAttr(value, _INDEX)))
        return self._built[dim]

    def _insert(self, op: Operation) -> SSAValue:
        self._builder.insert(op)
        return op.results[0]
