"""The bytes of buffers whose size depends on data, where their computation could exceed 64 bits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.runtime.dims import Dim, atom_operands
from stepwell.runtime.interface import MAX_TENSOR_BYTES

_LIMIT = 1 << 61
"""Parts of a size up to this number are added and multiplied without overflow."""
_TOO_MANY = 1 << 62
"""Bytes that no allocation gives; in C for 32 bits, the greatest index."""


def allocated_bytes(size: Dim, builder: IRBuilder) -> SSAValue:
    """
    The bytes of a buffer as an index; more than there is where they, or a part of them, exceed 2^61.

    Two sizes from data are at most 2^46 each, but their product can be any number modulo 2^64.
    """
    if _greatest(size) <= _LIMIT:
        return builder.extent(size)
    wide = _Bounds(builder)
    bound, most = wide.of(size), wide.of_index(builder.materialize(_TOO_MANY))
    if all(c > 0 and all(atom_operands(a) is None for a in atoms) for atoms, c in size.terms()):
        return builder.value(arith.IndexCastOp(wide.least(bound, most), INDEX))  # the size itself
    fits = builder.value(arith.CmpiOp(bound, wide.least(wide.number(_LIMIT), most), "sle"))
    return builder.value(arith.SelectOp(fits, builder.extent(size), builder.materialize(_TOO_MANY)))


def _greatest(size: Dim) -> int:
    """An upper bound of a size and all its parts, whose symbols are at most `MAX_TENSOR_BYTES`."""
    total = 0
    for atoms, coefficient in size.terms():
        product = abs(coefficient)
        for atom in atoms:
            parts = atom_operands(atom)
            product *= MAX_TENSOR_BYTES if parts is None else max(1, *map(_greatest, parts[1:]))
        total += product
    return total


@dataclass(frozen=True)
class _Bounds:
    """Upper bounds of sizes and all their parts in i64, computed without overflow: at most 2^61 + 1."""

    builder: IRBuilder

    def of(self, size: Dim) -> SSAValue:
        """The bound of a sum: of its terms, whatever their signs."""
        total: SSAValue | None = None
        for atoms, coefficient in size.terms():
            product = self.number(min(abs(coefficient), _LIMIT + 1))
            for atom in atoms:
                product = self._product(product, self._of_atom(atom))
            if total is not None:
                total = self.builder.value(arith.AddiOp(total, product))
            total = self._clamped(product if total is None else total)
        return self.number(0) if total is None else total

    def number(self, number: int) -> SSAValue:
        """A number of i64."""
        return self.builder.number(number, i64)

    def of_index(self, index: SSAValue) -> SSAValue:
        """An index in i64."""
        return self.builder.value(arith.IndexCastOp(index, i64))

    def least(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The lesser of two numbers."""
        return self.builder.value(arith.MinSIOp(a, b))

    def _of_atom(self, atom: str) -> SSAValue:
        """The bound of a symbol, which is the symbol, or of the parts of a quotient or an extremum."""
        parts = atom_operands(atom)
        if parts is None:
            return self.of_index(self.builder.extent(Dim.symbol(atom)))
        return self.builder.value(arith.MaxSIOp(self.of(parts[1]), self.of(parts[2])))

    def _product(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a * b of numbers from 0 to 2^61 + 1, clamped: no factor a beyond 2^61 / b + 1 is multiplied."""
        divisor = self.builder.value(arith.MaxSIOp(b, self.number(1)))
        most = self.builder.value(arith.FloorDivSIOp(self.number(_LIMIT), divisor))
        factor = self.least(a, self.builder.value(arith.AddiOp(most, self.number(1))))
        return self._clamped(self.builder.value(arith.MuliOp(factor, b)))

    def _clamped(self, a: SSAValue) -> SSAValue:
        return self.least(a, self.number(_LIMIT + 1))
