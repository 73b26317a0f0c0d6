"""A structured op as a product of tiles: which of its loops are rows, columns and the sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.arith import DotBytesOp
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.structured import linear, map_dims, single_dim


@dataclass(frozen=True)
class TileRows:
    """The rows of a tile in an operand: a dimension and the distance of rows along it."""

    along: int
    """The dimension that has the rows."""
    step: int
    """The distance of neighbouring rows, in indices of that dimension."""

    @staticmethod
    def of(map: AffineMap, rows: int | None, packed: int) -> TileRows | None:
        """The rows moved by loop `rows`, if `packed` alone moves the last dimension; else None."""
        indices = [linear(expr) for expr in map.results]
        if len(indices) < 2 or None in indices or single_dim(map.results[-1]) != packed:
            return None
        outer = indices[:-1]
        if any(packed in index.dims for index in outer if index):
            return None
        moved = [
            (i, dict(index.terms)[rows]) for i, index in enumerate(outer) if index and rows in index.dims
        ]
        if not moved:
            return TileRows(0, 1)  # a single row
        ((along, step), *others) = moved
        return None if others or step < 1 else TileRows(along, step)


@dataclass(frozen=True)
class TileLoops:
    """The loops of a sum of products of bytes that tile registers compute: [rows, columns] += lhs · rhs."""

    rows: int | None
    """The loop over rows; None for a single row."""
    columns: int
    sum: int
    """The loop over packed 32-bit elements, which are contiguous in the left operand."""
    sums: Sequence[int]
    """Other loops that are summed over, such as those of a window, from the outermost."""
    tile_rows: tuple[TileRows, TileRows, TileRows]
    """The rows of the left side, the right side and the result."""

    @staticmethod
    def of(
        body: Block, maps: Sequence[AffineMap], parallel: Sequence[bool], extents: Sequence[int]
    ) -> TileLoops | None:
        """
        The loops of an op; None when it is no product of tiles.

        `choose-schedules` passes the extents of a block to cut, `convert-linalg-to-amx` those of an op.
        """
        if not _adds_bytes(body):
            return None
        lhs, rhs, out = maps
        if not all(map.results for map in maps):
            return None
        summed, columns = single_dim(lhs.results[-1]), single_dim(out.results[-1])
        if summed is None or columns is None or parallel[summed] or columns in map_dims(lhs):
            return None
        long = [d for d, n in enumerate(extents) if n != 1 and parallel[d] and d != columns]
        if len(long) > 1 or any(d in map_dims(rhs) for d in long):
            return None
        rows = long[0] if long else None
        left, right = TileRows.of(lhs, rows, summed), TileRows.of(rhs, summed, columns)
        result = TileRows.of(out, rows, columns)
        if left is None or right is None or result is None:
            return None
        sums = [d for d, n in enumerate(extents) if not parallel[d] and d != summed and n != 1]
        return TileLoops(rows, columns, summed, sums, (left, right, result))


def _adds_bytes(body: Block) -> bool:
    """Whether a body is a single `arith.dot_bytes` of its arguments, added to the accumulator."""
    ops = list(body.ops)
    if len(ops) != 2 or not isinstance(ops[0], DotBytesOp) or not isinstance(ops[1], YieldOp):
        return False
    return tuple(ops[0].operands) == tuple(body.args) and tuple(ops[1].operands) == (ops[0].result,)


@dataclass(frozen=True)
class Operand:
    """A buffer that tiles are read from or written to, and how loops index it."""

    buffer: SSAValue
    map: AffineMap
    rows: TileRows

    def indices(self, emit: IRBuilder, at: Mapping[int, Index]) -> list[Index]:
        """The indices into the buffer at given values of loops; loops that are not in `at` count as 0."""
        found: list[Index] = []
        for expr in self.map.results:
            index = linear(expr)
            assert index is not None  # `of` has seen to that
            total: Index = index.constant
            for dim, factor in index.terms:
                total = emit.plus(total, emit.times(at.get(dim, 0), factor))
            found.append(total)
        return found


@dataclass(frozen=True)
class TileProduct:
    """An op on buffers that tile registers compute."""

    op: GenericOp
    loops: TileLoops
    lhs: Operand
    rhs: Operand
    out: Operand
    extents: Sequence[int]

    @staticmethod
    def of(op: GenericOp) -> TileProduct | None:
        """The op as a product of tiles; None when it is none."""
        maps = [attr.data for attr in op.get_indexing_maps()]
        values = list(op.operands)
        if not all(isinstance(value.type, MemRefType) and _is_dense_along(value) for value in values):
            return None
        parallel = [kind.data is IteratorType.PARALLEL for kind in op.get_iterator_types()]
        extents = _extents(values, maps, len(parallel))
        loops = TileLoops.of(op.body.block, maps, parallel, extents) if extents is not None else None
        if loops is None or extents is None:
            return None
        lhs, rhs, out = map(Operand, values, maps, loops.tile_rows)
        return TileProduct(op, loops, lhs, rhs, out, extents)


def _is_dense_along(buffer: SSAValue) -> bool:
    """Whether the last dimension of a buffer has stride 1."""
    strides = cast("MemRefType[Attribute]", buffer.type).get_strides()
    return bool(strides) and strides[-1] == 1


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
