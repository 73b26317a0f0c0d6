"""
Attention as loops over blocks of queries: scores with queries in lanes, softmax by lane, sums of values.

The two products are `linalg.generic` ops that get schedules like any other; the softmax between them is
straight-line code on vectors of queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext.attention import AttentionOp, whole_vectors
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import projection, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.passes.tensor.forms.bfloat_pairs import pairs_of_columns, pairs_of_rows, plus_pair
from stepwell.passes.tensor.forms.lane_softmax import Carried, LaneSoftmax, OnlineSoftmax
from stepwell.passes.tensor.forms.structured_ops import Read, computed, filled, plus, sum_of_products, times

_Range: TypeAlias = tuple[Index, Index]
"""The first row or column, and the number of them."""


def attention_by_blocks(op: AttentionOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.for` over groups of blocks of queries, with the three steps inside.

    ```mlir
    %y = scf.for %group … { scf.for %item … {
      %qt = linalg.generic … ins(%q) …               // [depth, queries], scaled
      %s = linalg.generic … ins(%k, %qt) …           // [keys, queries]
      %p, %inverses = scf.for %lane … { … }          // exp(s - max), one over its sums
      %o = linalg.generic … ins(%p, %v) …            // [queries, columns], then times the inverses
    } } {sched.parallel}
    ```
    With a size `keys` these come in blocks too, with the softmax so far carried along (Dao et al.,
    "FlashAttention", 2022):
    ```mlir
    %o, %tops, %totals = scf.for %key … {
      %s = linalg.generic … ins(%k, %qt) …
      %p, %factors, … = scf.for %lane … { … }        // exp(s - top so far), how much tops grew
      %o = linalg.generic … ins(%p, %v) …            // added to the sums so far times the factors
    }
    ```
    """
    tiling = _Tiling.of(op, sizes, emit)
    items = reduce(emit.times, [*tiling.batch, tiling.blocks])
    share = emit.ceildiv(items, sizes["groups"])

    def one_item(emit: IRBuilder, item: SSAValue, y: SSAValue) -> SSAValue:
        return _Block(op, tiling, emit, _BlockPosition.of(emit, item, tiling)).run(y)

    def one_group(emit: IRBuilder, group: SSAValue, y: SSAValue) -> SSAValue:
        start = emit.times(group, share)
        return emit.fold(start, emit.least(emit.plus(start, share), items), 1, y, one_item)

    return emit.fold(0, sizes["groups"], 1, op.init, one_group, parallel=True)


@dataclass(frozen=True)
class _Tiling:
    """The extents of an attention op as numbers or values, computed before all loops, and its blocks."""

    batch: Sequence[Index]
    queries: Index
    keys: Index
    depth: int
    columns: int
    block: int
    """The number of queries in a block."""
    blocks: Index
    """The number of blocks of queries in a batch entry."""
    key_block: int | None
    """The number of keys in a block; None for all of them at once."""
    softmax: LaneSoftmax
    """The softmax of a block's queries, each a column of scores."""

    @staticmethod
    def of(op: AttentionOp, sizes: Mapping[str, int], emit: IRBuilder) -> _Tiling:
        """The extents of an op, and the blocks that sizes give it."""
        *batch, queries, _columns = (dim_size(emit, op.init, d) for d in range(len(tensor_shape(op.init))))
        keys = dim_size(emit, op.k, len(tensor_shape(op.k)) - 2)
        block, zero_masked = sizes["queries"], op.zero_masked is not None
        softmax = LaneSoftmax(whole_vectors(block), sizes["lanes"], sizes["chains"], zero_masked)
        blocks = emit.ceildiv(queries, block)
        depth, columns = tensor_shape(op.q)[-1], tensor_shape(op.v)[-1]
        return _Tiling(batch, queries, keys, depth, columns, block, blocks, sizes.get("keys"), softmax)

    @property
    def lanes(self) -> int:
        """The queries of a block, rounded up to whole vectors."""
        return self.softmax.columns


@dataclass(frozen=True)
class _BlockPosition:
    """The position of a block of queries: batch indices, first query and number of queries."""

    batch: Sequence[Index]
    first: Index
    count: Index

    @staticmethod
    def of(emit: IRBuilder, item: SSAValue, tiling: _Tiling) -> _BlockPosition:
        """The position of the block with number `item`, counted over batches and blocks."""
        *batch, block = _unravel(emit, item, [*tiling.batch, tiling.blocks])
        first = emit.times(block, tiling.block)
        if isinstance(tiling.queries, int):  # the last block begins early enough to be whole
            return _BlockPosition(batch, emit.least(first, tiling.queries - tiling.block), tiling.block)
        return _BlockPosition(batch, first, emit.least(tiling.block, emit.minus(tiling.queries, first)))

    def batch_of(self, value: SSAValue) -> list[Index]:
        """The batch indices into an operand that broadcasts along batch dimensions."""
        own = tensor_shape(value)[:-2]
        skipped = len(self.batch) - len(own)
        return [0 if dim == 1 else self.batch[skipped + i] for i, dim in enumerate(own)]


@dataclass(frozen=True)
class _Block:
    """Emits the body of the loops: the scores, softmax and sums of values for one block of queries."""

    op: AttentionOp
    tiling: _Tiling
    emit: IRBuilder
    at: _BlockPosition

    def run(self, y: SSAValue) -> SSAValue:
        """The result `y` with the rows of the block's queries written."""
        queries, keys = self._queries(), self.tiling.key_block
        if keys is not None:
            return self._normalized(*self._over_keys(queries, keys), y)
        whole = 0, self.tiling.keys
        scores = self._scores(queries, whole)
        powers, inverses = self.tiling.softmax.of(self.emit, scores, self.tiling.keys)
        return self._normalized(self._weighed(powers, whole), inverses, y)

    def _over_keys(self, queries: SSAValue, step: int) -> tuple[SSAValue, SSAValue]:
        """
        Sums of values weighted by powers, accumulated over blocks of keys, and the inverse sums of powers.
        """
        tiling, keys = self.tiling, self.tiling.keys

        # Each iteration rescales the sums so far, as the maxima may have grown, and adds its own.
        def one_block(emit: IRBuilder, first: SSAValue, carried: Carried) -> Carried:
            sums, *state = carried
            is_whole = isinstance(keys, int) and keys % step == 0
            part = first, step if is_whole else emit.least(step, emit.minus(keys, first))
            block = replace(self, emit=emit)
            scores = block._scores(queries, part)
            powers, factors, softmax = OnlineSoftmax(tiling.softmax, *state).add(emit, scores, part[1])
            sums = block._rescaled(sums, factors, block._weighed(powers, part))
            return [sums, softmax.tops, softmax.totals]

        start = OnlineSoftmax.start(self.emit, tiling.softmax)
        zeros = filled(self.emit, self.emit.empty(f32, [tiling.block, tiling.columns]), 0)
        sums, *state = self.emit.loop(0, keys, step, [zeros, start.tops, start.totals], one_block)
        return sums, OnlineSoftmax(tiling.softmax, *state).inverses(self.emit)

    def _cut(self, value: SSAValue, rows: _Range, columns: _Range) -> Read:
        """
        A slice of rows and columns of an operand in the block's batch, and its map for loops (row, column).
        """
        batch = self.at.batch_of(value)
        ones = (1,) * len(batch)
        block = Slice((*batch, rows[0], columns[0]), (*ones, rows[1], columns[1]), (*ones, 1, 1))
        zeros = [AffineExpr.constant(0)] * len(batch)
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        return extract_slice(self.emit, value, block), AffineMap(2, 0, (*zeros, d0, d1))

    def _transposed(self, value: SSAValue, part: _Range, factor: float = 1) -> SSAValue:
        """
        Columns of an operand's rows in the block, transposed and scaled, with zeros up to whole vectors.
        """
        width = part[1]
        rows, by_row = self._cut(value, (self.at.first, self.at.count), part)
        columns = self.emit.empty(f32, [width, self.tiling.lanes])
        pads = self.tiling.lanes - self.tiling.block
        if self.at.count != self.tiling.block:  # the number of missing queries is known at run time only
            columns = filled(self.emit, columns, 0)
        elif pads:
            rest = Slice((0, self.tiling.block), (width, pads), (1, 1))
            columns = insert_slice(
                self.emit, filled(self.emit, extract_slice(self.emit, columns, rest), 0), columns, rest
            )
        whole = Slice((0, 0), (width, self.at.count), (1, 1))
        # The transposed copy, written into the columns of real queries.
        transposed = computed(
            self.emit,
            [(rows, by_row.compose(projection(2, [1, 0])))],
            (extract_slice(self.emit, columns, whole), projection(2, [0, 1])),
            lambda e, s: s[0] if factor == 1 else times(e, s[0], e.number(factor, f32)),
        )
        return insert_slice(self.emit, transposed, columns, whole)

    def _queries(self) -> SSAValue:
        """The block's queries, transposed and scaled: [depth, queries], or pairs along the depth."""
        columns = self._transposed(self.op.q, (0, self.tiling.depth), self.op.scale.value.data)
        if self.op.pairs is None:
            return columns
        lanes = self.tiling.lanes
        return pairs_of_rows(self.emit, partial(self._rows, columns, lanes), self.tiling.depth, lanes)

    def _rows(self, source: SSAValue, columns: Index, first: Index, count: Index) -> Read:
        """Some rows of a matrix of the block, for loops (row, column)."""
        part = Slice((first, 0), (count, columns), (1, 1))
        return extract_slice(self.emit, source, part), projection(2, [0, 1])

    def _scores(self, queries: SSAValue, part: _Range) -> SSAValue:
        """The scores of the block's queries for some keys, mask added: [keys, queries]."""
        # Products: keys x queries, summed over the depth, with queries along lanes.
        keys, by_row = self._cut(self.op.k, part, (0, self.tiling.depth))
        sizes = [part[1], self.tiling.lanes]
        if self.op.pairs is not None:
            pairs = pairs_of_columns(self.emit, (keys, by_row), part[1], self.tiling.depth)
            reads = (pairs, projection(3, [0, 2])), (queries, projection(3, [2, 1]))
            scores = sum_of_products(self.emit, reads, f32, sizes, 1, plus_pair)
        else:
            reads = (keys, by_row.compose(projection(3, [0, 2]))), (queries, projection(3, [2, 1]))
            scores = sum_of_products(self.emit, reads, f32, sizes, 1)
        if self.op.mask is None:
            return scores
        reads = [(scores, projection(2, [0, 1])), self._mask(self.op.mask, part)]
        write = (self.emit.empty(f32, sizes), projection(2, [0, 1]))
        return computed(self.emit, reads, write, lambda e, s: plus(e, s[0], s[1]))

    def _mask(self, mask: SSAValue, part: _Range) -> Read:
        """The mask for the block and some keys, with its map for loops (key, query)."""
        own = tensor_shape(mask)
        is_of_keys = bool(own) and own[-1] != 1
        columns: _Range = part if is_of_keys else (0, 1)
        # A mask by query is transposed, as queries are lanes; others are shared by all queries.
        if len(own) > 1 and own[-2] != 1:
            found, by_row = self._transposed(mask, columns), projection(2, [0, 1])
        elif len(own) > 1:
            found, by_row = self._cut(mask, (0, 1), columns)
            by_row = by_row.compose(AffineMap(2, 0, (AffineExpr.constant(0), AffineExpr.dimension(0))))
        elif is_of_keys:
            found = extract_slice(self.emit, mask, Slice((part[0],), (part[1],), (1,)))
            by_row = projection(2, [0])
        else:
            found, by_row = mask, projection(2, [0] * len(own))
        if is_of_keys or not own:
            return found, by_row
        # A number for all keys is read at the index of the first one.
        only = AffineMap(2, 0, (AffineExpr.constant(0), AffineExpr.dimension(1)))
        return found, by_row.compose(only)

    def _weighed(self, powers: SSAValue, part: _Range) -> SSAValue:
        """Values of some keys, weighted by the powers and summed: [queries, columns]."""
        tiling = self.tiling
        sizes = [tiling.block, tiling.columns]
        if self.op.pairs is not None:
            paired = self._paired_values(part)
            rows = partial(self._rows, powers, tiling.block)
            weights = pairs_of_rows(self.emit, rows, part[1], tiling.block)
            both = (weights, projection(3, [2, 0])), (paired, projection(3, [2, 1]))
            return sum_of_products(self.emit, both, f32, sizes, 1, plus_pair)
        powers = extract_slice(self.emit, powers, Slice((0, 0), (part[1], tiling.block), (1, 1)))
        values, by_row = self._cut(self.op.v, part, (0, tiling.columns))
        reads = (powers, projection(3, [2, 0])), (values, by_row.compose(projection(3, [2, 1])))
        return sum_of_products(self.emit, reads, f32, sizes, 1)

    def _paired_values(self, part: _Range) -> SSAValue:
        """Values of some keys, two neighbours in a pair."""
        start, count = part

        def rows(first: Index, some: Index) -> Read:
            return self._cut(self.op.v, (self.emit.plus(start, first), some), (0, self.tiling.columns))

        return pairs_of_rows(self.emit, rows, count, self.tiling.columns)

    def _rescaled(self, sums: SSAValue, factors: SSAValue, more: SSAValue) -> SSAValue:
        """The sums so far, each query's times its factor, plus `more`."""
        identity = AffineMap.identity(2)
        factors = extract_slice(self.emit, factors, Slice((0,), (self.tiling.block,), (1,)))
        reads = [(factors, projection(2, [0])), (more, identity)]
        return computed(self.emit, reads, (sums, identity), lambda e, s: plus(e, times(e, s[2], s[0]), s[1]))

    def _normalized(self, sums: SSAValue, inverses: SSAValue, y: SSAValue) -> SSAValue:
        """The result `y` with the block's sums, each query's times the inverse of its sum of powers."""
        emit, tiling, at = self.emit, self.tiling, self.at
        if at.count != tiling.block:
            sums = extract_slice(emit, sums, Slice((0, 0), (at.count, tiling.columns), (1, 1)))
        inverses = extract_slice(emit, inverses, Slice((0,), (at.count,), (1,)))
        ones = (1,) * len(tiling.batch)
        block = Slice((*at.batch, at.first, 0), (*ones, at.count, tiling.columns), (*ones, 1, 1))
        rank = len(tiling.batch)
        reads = [(sums, projection(rank + 2, [rank, rank + 1])), (inverses, projection(rank + 2, [rank]))]
        write = (extract_slice(emit, y, block), AffineMap.identity(rank + 2))
        result = computed(self.emit, reads, write, lambda e, s: times(e, s[0], s[1]))
        return insert_slice(emit, result, y, block)


def _unravel(emit: IRBuilder, number: SSAValue, sizes: Sequence[Index]) -> list[Index]:
    """The indices of the `number`-th element of a shape in row-major order."""
    indices: list[Index] = []
    rest = number
    for position, size in reversed(list(enumerate(sizes))):
        if size == 1:
            indices.append(0)
        elif all(outer == 1 for outer in sizes[:position]):
            indices.append(rest)
        else:
            divisor = emit.materialize(size)
            indices.append(emit.value(arith.RemUIOp(rest, divisor)))
            rest = emit.value(arith.DivUIOp(rest, divisor))
    return indices[::-1]
