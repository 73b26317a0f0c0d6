"""The first elements of rows in order, by rounds without branches: each takes the first of what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_linalg.recurrent import counted_loop
from stepwell.lowering.graph_to_linalg.scalars import Scalars, signless
from stepwell.lowering.graph_to_linalg.slices import Indices, cut, index_of, layer_of, paste
from stepwell.lowering.graph_to_linalg.support import (
    PARALLEL,
    REDUCTION,
    Emitted,
    Read,
    extent,
    filled,
    generic,
    identity,
    inserted,
    loop_index,
    projection,
)
from stepwell.lowering.graph_to_linalg.views import split_dims
from stepwell.runtime.dims import Dim

_KEYS, _RANKS = Scalars(i32), Scalars(i64)
_LAST_PLACE = (1 << 32) - 1
# Ranks in a vector, of which blocks and counts of blocks are multiples.
_LANES = 8
# Up to so many elements are looked through whole in each round (5 of 100: 0.75 of the time).
_ONE_BLOCK = 256
# The size of blocks where that of rows is not known.
_OPEN_BLOCK = 64
# From so many elements on for each that is asked for, nearly all are passed over.
_MANY = 2048


def pays(op: graph.TopKOp) -> bool:
    """
    Whether rounds are the fast way: an element and its place fit 64 bits, and not a few of very many are
    asked for, which a walk finds sooner (8 of 32000: in 0.7 of the time).
    """
    scalars, row = Scalars(element_of_value(op.input)), dims_of(op.input.type)[op.axis.value.data]
    k = dims_of(op.chosen.type)[op.axis.value.data]
    fits = scalars.type == f32 if scalars.is_float else scalars.bits <= 32
    if not fits or not row.is_static:
        return fits
    return row.value <= _LAST_PLACE and not (k.is_static and row.value >= _MANY * k.value)


@dataclass(frozen=True)
class Rounds:
    """
    The first `k` elements of rows, by a tournament of their ranks.

    A rank is an i32 in whose order elements come, over the complement of a place: no two are equal, and of
    equal elements the one with the lower index comes first. The row is cut into blocks, whose greatest ranks
    are kept. A round takes the greatest of those, which is below all that were taken before, and looks
    through that one block again for the greatest rank below it: with blocks of about the root of a row's
    size, a round costs two short loops on vectors.

    ```mlir
    %ranks = linalg.generic ["parallel"] ins(%row) { arith.shli, arith.addi } // later [32, 32]
    %tops = linalg.generic ["parallel", "reduction"] ins(%ranks : tensor<32x32xi64>) { arith.maxsi }
    scf.for %round = %c0 to %k iter_args(…, %tops) {
      %best = linalg.generic ["reduction"] ins(%tops : tensor<32xi64>) { arith.maxsi }
      … // x at its place, and the place, are results; the greatest rank of its block below %best replaces it
    }
    ```
    """

    op: graph.TopKOp
    rewriter: PatternRewriter

    def row(self, outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Fill one row of both results."""
        blocks = self._blocks(outer)
        start = filled(tensor_type(i64, dims_of(blocks.type)[:1]), _RANKS.lowest(), self.rewriter)
        write, loops = (start, projection(2, [0])), [PARALLEL, REDUCTION]
        tops = generic(
            [(blocks, identity(2))], write, loops, lambda s: _RANKS.maximum(s[1], s[0]), self.rewriter
        )
        steps = extent(dims_of(self.op.chosen.type)[self._axis], self.rewriter)

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
        """Put the first element that is left into a slot of the results."""
        size = dims_of(blocks.type)[1].value
        best = self._greatest((tops, identity(1)), lambda rank: rank)
        place = self._emitted(lambda: _place(best))
        index = self._emitted(lambda: index_of(place))
        block = self._emitted(lambda: arith.DivUIOp(index, Indices.constant(size)).result)
        element = tensor.ExtractOp.create(
            operands=[self.op.input, *self._at(outer, index)],
            result_types=[signless(element_of_value(self.op.input))],
        )
        value = self.rewriter.insert(element).results[0]

        def left(rank: SSAValue) -> SSAValue:
            return _RANKS.select(_RANKS.compare("lt", rank, best), rank, _RANKS.constant(_RANKS.lowest()))

        top = self._greatest((layer_of(blocks, {0: block}, self.rewriter), identity(2)), left)
        at = self._at(outer, slot)
        stores = zip((value, place, top), (*outputs, tops), (at, at, [block]), strict=True)
        return [
            self.rewriter.insert(
                tensor.InsertOp.create(operands=[new, into, *where], result_types=[into.type])
            ).results[0]
            for new, into, where in stores
        ]

    def _blocks(self, outer: Sequence[SSAValue]) -> SSAValue:
        """The ranks of a row, a block in each row of a matrix; behind the last one stands what comes last."""
        source, axis, rewriter = self.op.input, self._axis, self.rewriter
        dims = dims_of(source.type)
        layer = layer_of(source, dict(zip(self._others, outer, strict=True)), rewriter)
        scalars, largest = Scalars(element_of_value(source)), bool(self.op.largest.value.data)
        zero = AffineExpr.constant(0)
        along = tuple(AffineExpr.dimension(0) if i == axis else zero for i in range(len(dims)))
        count, size = _blocks_of(dims[axis])
        room = filled(tensor_type(i64, [count * size]), _RANKS.lowest(), rewriter)
        ranks = generic(
            [(layer, AffineMap(1, 0, along))],
            (cut(room, [Dim.of(0)], [dims[axis]], [1], rewriter), identity(1)),
            [PARALLEL],
            lambda s: _rank(_key(scalars, s[0], largest), loop_index(0)),
            rewriter,
        )
        return split_dims(paste(ranks, room, [Dim.of(0)], rewriter), [[count, Dim.of(size)]], rewriter)

    def _greatest(self, read: Read, rank: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The greatest of ranks, one for each element that is read."""
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
        return self.rewriter.insert(tensor.ExtractOp.create(operands=[found], result_types=[i64])).results[0]

    def _emitted(self, emit: Callable[[], Emitted]) -> Emitted:
        return inserted(emit, self.rewriter)

    def _at(self, outer: Sequence[SSAValue], index: SSAValue) -> list[SSAValue]:
        return [*outer[: self._axis], index, *outer[self._axis :]]

    @property
    def _others(self) -> list[int]:
        return [i for i in range(len(dims_of(self.op.input.type))) if i != self._axis]

    @property
    def _axis(self) -> int:
        return self.op.axis.value.data


def _blocks_of(row: Dim) -> tuple[Dim, int]:
    """How many blocks a row has, and of what size: about its root, or the whole of a short row."""
    if not row.is_static:
        return row.ceildiv(_OPEN_BLOCK), _OPEN_BLOCK
    if row.value <= _ONE_BLOCK:
        return Dim.of(1), max(1, -(-row.value // _LANES)) * _LANES
    size = _LANES
    while 2 * size * size < row.value:
        size *= 2
    return row.ceildiv(_LANES * size) * _LANES, size


def _key(scalars: Scalars, x: SSAValue, largest: bool) -> SSAValue:
    """An element as an i32: the greatest one comes first. NaN is the greatest number, -0 is 0."""
    if scalars.is_float:
        bits = arith.BitcastOp(scalars.add(x, scalars.constant(0)), i32).result
        negative = arith.ShRSIOp(bits, _KEYS.constant(31)).result
        ordered = arith.XOrIOp(bits, arith.AndIOp(negative, _KEYS.constant(_KEYS.highest())).result).result
        key = _KEYS.select(scalars.is_nan(x), _KEYS.constant(_KEYS.highest()), ordered)
    else:
        key = scalars.convert(x, _KEYS)
        if scalars.unsigned and scalars.bits == 32:
            key = arith.XOrIOp(key, _KEYS.constant(_KEYS.lowest())).result
    return key if largest else arith.XOrIOp(key, _KEYS.constant(-1)).result


def _rank(key: SSAValue, place: SSAValue) -> SSAValue:
    """The rank of an element with a key at a place."""
    high = arith.ShLIOp(_KEYS.convert(key, _RANKS), _RANKS.constant(32)).result
    return _RANKS.add(high, _RANKS.subtract(_RANKS.constant(_LAST_PLACE), _RANKS.from_index(place)))


def _place(rank: SSAValue) -> SSAValue:
    """Where in its row an element of a rank stands."""
    low = arith.AndIOp(rank, _RANKS.constant(_LAST_PLACE)).result
    return _RANKS.subtract(_RANKS.constant(_LAST_PLACE), low)
