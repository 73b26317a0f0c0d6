"""A structured op on buffers as a product of tiles: which of its loops are rows, columns and the sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.arith import DotBytesOp
from stepwell.passes.tensor.emit import Emitter, Index
from stepwell.passes.tensor.structured import linear, map_dims, single_dim


@dataclass(frozen=True)
class Operand:
    """A buffer that tiles are read from or written to, and how loops index it."""

    buffer: SSAValue
    map: AffineMap
    along: int
    """The dimension that the rows of a tile lie along."""
    step: int
    """How far apart they lie there."""

    @staticmethod
    def of(buffer: SSAValue, map: AffineMap, rows: int | None, words: int | None) -> Operand | None:
        """The operand, where one loop moves the rows of a tile and another its words; None elsewhere."""
        strides = cast("MemRefType[Attribute]", buffer.type).get_strides()
        indices = [linear(expr) for expr in map.results]
        if strides is None or strides[-1] != 1 or len(indices) < 2 or None in indices:
            return None
        if words is not None and (single_dim(map.results[-1]) != words or words in map_dims_of(map, -1)):
            return None
        moved = [
            (i, dict(index.terms)[rows]) for i, index in enumerate(indices) if index and rows in index.dims
        ]
        if rows is None or not moved:
            return Operand(buffer, map, 0, 1)  # a single row
        ((along, step), *others) = moved
        if others or along == len(indices) - 1 or step < 1:
            return None
        return Operand(buffer, map, along, step)

    def indices(self, emit: Emitter, at: Mapping[int, Index]) -> list[Index]:
        """Where loops lead to; those that are not named stand at 0."""
        found: list[Index] = []
        for expr in self.map.results:
            index = linear(expr)
            assert index is not None  # `of` has seen to that
            place: Index = index.constant
            for dim, factor in index.terms:
                place = emit.plus(place, emit.times(at.get(dim, 0), factor))
            found.append(place)
        return found


def map_dims_of(map: AffineMap, skipped: int) -> set[int]:
    """The loops that move an operand along its dimensions but one."""
    kept = [expr for i, expr in enumerate(map.results) if i != skipped % len(map.results)]
    return set[int]().union(*(expr.used_dims() for expr in kept))


@dataclass(frozen=True)
class TileProduct:
    """A sum of products of bytes that tile registers compute: result [rows, columns] += lhs · rhs."""

    op: GenericOp
    lhs: Operand
    rhs: Operand
    out: Operand
    rows: int | None
    """The loop over rows; None for a single row."""
    columns: int
    sum: int
    """The loop over words that lie side by side in the left operand."""
    sums: Sequence[int]
    """Other loops that are summed over, such as those of a window, from the outermost."""
    extents: Sequence[int]

    @staticmethod
    def of(op: GenericOp) -> TileProduct | None:
        """The op as a product of tiles; None when it is none."""
        maps = [attr.data for attr in op.get_indexing_maps()]
        values = list(op.operands)
        if not _adds_bytes(op) or not all(isinstance(value.type, MemRefType) for value in values):
            return None
        reduced = [kind.data is IteratorType.REDUCTION for kind in op.get_iterator_types()]
        extents = _extents(values, maps, len(reduced))
        if extents is None:
            return None
        lhs, rhs, out = maps
        summed = single_dim(lhs.results[-1])
        columns = single_dim(out.results[-1])
        if summed is None or columns is None or not reduced[summed] or columns in map_dims(lhs):
            return None
        long = [d for d, n in enumerate(extents) if n != 1 and not reduced[d] and d != columns]
        if len(long) > 1 or any(d in map_dims(rhs) for d in long):
            return None
        rows = long[0] if long else None
        left = Operand.of(values[0], lhs, rows, summed)
        right = Operand.of(values[1], rhs, summed, columns)
        result = Operand.of(values[2], out, rows, columns)
        if left is None or right is None or result is None:
            return None
        sums = [d for d, is_reduced in enumerate(reduced) if is_reduced and d != summed and extents[d] != 1]
        return TileProduct(op, left, right, result, rows, columns, summed, sums, extents)


def _adds_bytes(op: GenericOp) -> bool:
    """Whether a body does no more than add the products of the bytes of two words."""
    ops = list(op.body.block.ops)
    if len(ops) != 2 or not isinstance(ops[0], DotBytesOp) or not isinstance(ops[1], YieldOp):
        return False
    args = tuple(op.body.block.args)
    return tuple(ops[0].operands) == args and tuple(ops[1].operands) == (ops[0].result,)


def _extents(values: Sequence[SSAValue], maps: Sequence[AffineMap], loops: int) -> list[int] | None:
    """The extent of each loop; None when one is known at run time only."""
    extents: list[int | None] = [None] * loops
    for value, map in zip(values, maps, strict=True):
        shape = cast("MemRefType[Attribute]", value.type).get_shape()
        for size, expr in zip(shape, map.results, strict=True):
            if (dim := single_dim(expr)) is not None and size != DYNAMIC_INDEX:
                extents[dim] = size
    known = [n for n in extents if n is not None]
    return known if len(known) == loops else None
