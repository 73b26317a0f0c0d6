"""
The first k elements of rows in order, in rounds without branches: each extracts the greatest remaining rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.costs.kernels import SEARCHES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.ranks import key_of
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.linalg_builder.slices import INDICES, cut, index_of, layer_of, paste
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Emitted,
    Read,
    counted_loop,
    extent,
    filled,
    generic,
    identity,
    inserted,
    loop_index,
    projection,
)
from stepwell.dialects.linalg_builder.views import split_dims
from stepwell.dialects.linalg_ext.ordering import LAST_POSITION
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim

_KEYS, _RANKS = Scalars(i32), Scalars(i64)


@dataclass(frozen=True)
class TopKRow:
    """The first k elements along the axis of an op, in one row."""

    op: graph.TopKOp
    rewriter: PatternRewriter

    @property
    def axis(self) -> int:
        """The axis that is searched."""
        return self.op.axis.value.data

    @property
    def scalars(self) -> Scalars:
        """Emitters for the element type."""
        return Scalars(element_of_value(self.op.input))

    def at(self, outer: Sequence[SSAValue], index: SSAValue) -> list[SSAValue]:
        """The indices of an element: `index` along the axis, `outer` along all others."""
        return [*outer[: self.axis], index, *outer[self.axis :]]


@dataclass(frozen=True)
class Rounds(TopKRow):
    """
    The first `k` elements of rows, by a tournament of their ranks.

    A rank is an i64: its upper half is an i32 in the order of the elements, its lower half the complement of
    the position. No two ranks are equal, and of equal elements the one with the lower index comes first. The
    row is split into blocks, and the greatest rank of each is stored. A round takes the greatest of those,
    which is less than all ranks of earlier rounds, and searches its block for the greatest rank below it:
    with blocks of about the root of the row's size, a round costs two short loops on vectors.

    ```mlir
    %ranks = linalg.generic ["parallel"] ins(%row) { arith.shli, arith.addi } // later [32, 32]
    %tops = linalg.generic ["parallel", "reduction"] ins(%ranks : tensor<32x32xi64>) { arith.maxsi }
    scf.for %round = %c0 to %k iter_args(…, %tops) {
      %best = linalg.generic ["reduction"] ins(%tops : tensor<32xi64>) { arith.maxsi }
      … // x at its position, and the position, are results; its block's greatest rank below %best replaces it
    }
    ```
    """

    block: int

    def row(self, outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Both results for a row, filled by k rounds."""
        blocks = self._blocks(outer)
        start = filled(tensor_type(i64, dims_of(blocks.type)[:1]), _RANKS.lowest(), self.rewriter)
        write, loops = (start, projection(2, [0])), [PARALLEL, REDUCTION]
        tops = generic(
            [(blocks, identity(2))], write, loops, lambda s: _RANKS.maximum(s[1], s[0]), self.rewriter
        )
        steps = extent(dims_of(self.op.chosen.type)[self.axis], self.rewriter)

        def step(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            *outputs, tops = carried
            return self._round(outer, index, outputs, blocks, tops)

        return counted_loop(steps, [*outputs, tops], step, self.rewriter)[:-1]

    def _round(
        self,
        outer: Sequence[SSAValue],
        slot: SSAValue,
        outputs: Sequence[SSAValue],
        blocks: SSAValue,
        tops: SSAValue,
    ) -> Sequence[SSAValue]:
        """
        The results and block maxima after one round: the greatest remaining element is stored at `slot`.
        """
        # The greatest rank of all blocks, and with it the position, block and value of the element.
        size = dims_of(blocks.type)[1].value
        best = self._greatest((tops, identity(1)), lambda rank: rank)
        position = self._emitted(lambda: _position(best))
        index = self._emitted(lambda: index_of(position))
        block = self._emitted(lambda: arith.DivUIOp(index, INDICES.constant(size)).result)
        stored = signless(element_of_value(self.op.input))
        value = self.rewriter.insert(tensor.ExtractOp(self.op.input, self.at(outer, index), stored)).result

        # The greatest rank of that block among those that remain.
        def left(rank: SSAValue) -> SSAValue:
            return _RANKS.select(_RANKS.compare("lt", rank, best), rank, _RANKS.constant(_RANKS.lowest()))

        top = self._greatest((layer_of(blocks, {0: block}, self.rewriter), identity(2)), left)
        at = self.at(outer, slot)
        stores = zip((value, position, top), (*outputs, tops), (at, at, [block]), strict=True)
        return [self.rewriter.insert(tensor.InsertOp(*store)).result for store in stores]

    def _blocks(self, outer: Sequence[SSAValue]) -> SSAValue:
        """The ranks of a row as a matrix with one block in each row, padded with the lowest rank."""
        source, axis, rewriter = self.op.input, self.axis, self.rewriter
        dims = dims_of(source.type)
        others = [i for i in range(len(dims)) if i != axis]
        layer = layer_of(source, dict(zip(others, outer, strict=True)), rewriter)
        scalars, largest = self.scalars, bool(self.op.largest.value.data)
        zero = AffineExpr.constant(0)
        along = tuple(AffineExpr.dimension(0) if i == axis else zero for i in range(len(dims)))
        count, size = _blocks_of(dims[axis], self.block), self.block
        room = filled(tensor_type(i64, [count * size]), _RANKS.lowest(), rewriter)
        ranks = generic(
            [(layer, AffineMap(1, 0, along))],
            (cut(room, [Dim.of(0)], [dims[axis]], [1], rewriter), identity(1)),
            [PARALLEL],
            lambda s: _rank(key_of(scalars, s[0], largest), loop_index(0)),
            rewriter,
        )
        return split_dims(paste(ranks, room, [Dim.of(0)], rewriter), [[count, Dim.of(size)]], rewriter)

    def _greatest(self, read: Read, rank: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The greatest of `rank` applied to all elements of a read."""
        dims = read[1].num_dims
        start = filled(tensor_type(i64, []), _RANKS.lowest(), self.rewriter)
        loops = [REDUCTION] * dims
        found = generic(
            [read],
            (start, projection(dims, [])),
            loops,
            lambda s: _RANKS.maximum(s[1], rank(s[0])),
            self.rewriter,
        )
        return self.rewriter.insert(tensor.ExtractOp(found, [], i64)).result

    def _emitted(self, emit: Callable[[], Emitted]) -> Emitted:
        """The result of an emitter of scalar ops, inserted at the rewriter's insertion point."""
        return inserted(emit, self.rewriter)


def _blocks_of(row: Dim, size: int) -> Dim:
    """The number of blocks of a row: whole vectors of them, or one."""
    if not row.is_static:
        return row.ceildiv(size)
    lanes = SEARCHES.rank_lanes
    return Dim.of(1) if row.value <= size else row.ceildiv(lanes * size) * lanes


def _rank(key: SSAValue, position: SSAValue) -> SSAValue:
    """The rank of an element with a key at a position: the key above the complement of the position."""
    high = arith.ShLIOp(_KEYS.convert(key, _RANKS), _RANKS.constant(32)).result
    return _RANKS.add(high, _RANKS.subtract(_RANKS.constant(LAST_POSITION), _RANKS.from_index(position)))


def _position(rank: SSAValue) -> SSAValue:
    """The position in its row of the element with a rank."""
    low = arith.AndIOp(rank, _RANKS.constant(LAST_POSITION)).result
    return _RANKS.subtract(_RANKS.constant(LAST_POSITION), low)
