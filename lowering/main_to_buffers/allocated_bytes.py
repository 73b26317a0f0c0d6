"""The bytes of buffers whose size depends on data, where their computation could exceed 64 bits."""

from __future__ import annotations

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.runtime.dims import Dim, atom_operands
from stepwell.runtime.interface import MAX_TENSOR_BYTES

_LIMIT = 1 << 61
"""Parts of a size up to this number are added and multiplied without overflow."""
_TOO_MANY = 1 << 62
"""Bytes that no allocation gives."""


def allocated_bytes(size: Dim, builder: IRBuilder) -> Index:
    """
    The bytes of a buffer; 2^62, more than there is, where a part of the size exceeds 2^61.

    Two sizes from data are at most 2^46 each, but their product can be any number modulo 2^64.
    """
    found = builder.size(size)
    if _greatest(size) <= _LIMIT:
        return found
    exceeds = builder.floordiv(_bounded(size, builder), _LIMIT + 1)  # 0 or 1
    return builder.most(found, builder.times(exceeds, _TOO_MANY))


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


def _bounded(size: Dim, builder: IRBuilder) -> Index:
    """An upper bound of a size and all its parts; 2^61 + 1 where it is more."""
    total: Index = 0
    for atoms, coefficient in size.terms():
        product: Index = min(abs(coefficient), _LIMIT + 1)
        for atom in atoms:
            product = _product(product, _bounded_atom(atom, builder), builder)
        total = builder.least(builder.plus(total, product), _LIMIT + 1)
    return total


def _bounded_atom(atom: str, builder: IRBuilder) -> Index:
    parts = atom_operands(atom)
    if parts is None:
        return builder.size(Dim.symbol(atom))
    _, left, right = parts
    return builder.most(_bounded(left, builder), _bounded(right, builder))


def _product(a: Index, b: Index, builder: IRBuilder) -> Index:
    """a * b for a and b from 0 to 2^61 + 1; at most 2^61 + 1."""
    most = builder.plus(builder.floordiv(_LIMIT, builder.most(b, 1)), 1)
    return builder.least(builder.times(builder.least(a, most), b), _LIMIT + 1)
