"""
Attention → loops over blocks of queries: scores with queries in lanes, a softmax a lane, the sum of values.

The two products are `linalg.generic`s that get schedules like any other; the softmax between them is
straight-line code on vectors of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.tensor_ir.emit import Constants, Emitter, Index, Slice
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_linalg.scalars import Scalars
from stepwell.lowering.graph_to_linalg.support import (
    PARALLEL,
    REDUCTION,
    Body,
    Read,
    empty,
    enclosing_kernel,
    extent,
    generic,
    projection,
)
from stepwell.lowering.graph_to_linalg.vectors.attention_blocks import AttentionForm
from stepwell.lowering.graph_to_linalg.vectors.lane_softmax import Carried, OnlineSoftmax, lane_softmax
from stepwell.runtime.dims import Dim

_Range: TypeAlias = tuple[Index, Index]
"""Where rows or columns begin, and how many there are."""


class AttentionLowering(RewritePattern):
    """
    `graph.attention` → `scf.for` over groups of blocks of queries, with the three steps inside.

    ```mlir
    %y = scf.for %group … { scf.for %item … {
      %qt = linalg.generic … ins(%q) …               // [depth, queries], scaled
      %s = linalg.generic … ins(%k, %qt) …           // [keys, queries]
      %p, %inverses = scf.for %lane … { … }          // exp(s - max), one over its sums
      %o = linalg.generic … ins(%p, %v) …            // [queries, columns], then times the inverses
    } } {sched.parallel}
    ```
    Where the scores of all keys pass the cache, keys come in blocks too, with the softmax so far
    carried along (Dao et al., "FlashAttention", 2022):
    ```mlir
    %o, %tops, %totals = scf.for %key … {
      %s = linalg.generic … ins(%k, %qt) …
      %p, %factors, … = scf.for %lane … { … }        // exp(s - top so far), how much tops grew
      %o = linalg.generic … ins(%p, %v) …            // added to the sums so far times the factors
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        form = AttentionForm.of(op)
        y = empty(tensor_type(f32, dims_of(op.result.type)), rewriter)
        emit = Emitter.before(op, Constants(enclosing_kernel(rewriter)))
        rewriter.replace(op, [], [_over_blocks(op, form, y, emit, rewriter)])


@dataclass(frozen=True)
class _Sizes:
    """Extents as numbers or values, computed in front of all loops."""

    batch: Sequence[Index]
    blocks: Index
    queries: Index
    keys: Index


def _over_blocks(
    op: graph.AttentionOp, form: AttentionForm, y: SSAValue, emit: Emitter, rewriter: PatternRewriter
) -> SSAValue:
    """`y` with all blocks of all batches written into it."""

    def size(dim: Dim) -> Index:
        return dim.value if dim.is_static else extent(dim, rewriter)

    items, share = size(form.items), size(form.share)
    sizes = _Sizes([size(d) for d in form.batch], size(form.blocks), size(form.queries), size(form.keys))

    def one_group(emit: Emitter, group: SSAValue, carried: Carried) -> Carried:
        start = emit.times(group, share) if isinstance(share, int) else emit.value(arith.MuliOp(group, share))
        stop = _minimum(emit, emit.plus(start, share), items)

        def one_item(emit: Emitter, item: SSAValue, carried: Carried) -> Carried:
            at = _Place.of(emit, item, form, sizes)
            return [_Block(op, form, sizes, emit, rewriter, at).run(carried[0])]

        return emit.loop(start, stop, 1, carried, one_item)

    result = emit.loop(0, form.groups, 1, [y], one_group, parallel=True)[0]
    rewriter.insertion_point = emit.place
    return result


@dataclass(frozen=True)
class _Place:
    """Where a block of queries is: its batch, its first query, and how many there are."""

    batch: Sequence[Index]
    first: Index
    count: Index

    @staticmethod
    def of(emit: Emitter, item: SSAValue, form: AttentionForm, sizes: _Sizes) -> _Place:
        """The place of a block by its number."""
        *batch, block = _unravel(emit, item, [*sizes.batch, sizes.blocks])
        first = emit.times(block, form.block)
        if form.queries.is_static:  # the last block begins early enough to be whole
            return _Place(batch, _minimum(emit, first, form.queries.value - form.block), form.block)
        return _Place(batch, first, _minimum(emit, form.block, emit.minus(sizes.queries, first)))

    def batch_of(self, value: SSAValue) -> list[Index]:
        """The indices of the batch in an operand that broadcasts."""
        own = dims_of(value.type)[:-2]
        skipped = len(self.batch) - len(own)
        return [0 if dim == 1 else self.batch[skipped + i] for i, dim in enumerate(own)]


@dataclass(frozen=True)
class _Block:
    """Emits the body of the loops: what is computed for one block of queries."""

    op: graph.AttentionOp
    form: AttentionForm
    sizes: _Sizes
    emit: Emitter
    rewriter: PatternRewriter
    at: _Place

    def run(self, y: SSAValue) -> SSAValue:
        """`y` with the results of the block."""
        queries, keys = self._queries(), self.form.key_block
        if keys is not None:
            return self._normalized(*self._over_keys(queries, keys), y)
        whole = 0, self.sizes.keys
        powers, inverses = lane_softmax(
            self.emit, self._scores(queries, whole), whole[1], self.form.lanes, zero_masked=self._zero_masked
        )
        return self._normalized(self._weighed(powers, whole), inverses, y)

    @property
    def _zero_masked(self) -> bool:
        return bool(self.op.zero_masked)

    def _over_keys(self, queries: SSAValue, step: int) -> tuple[SSAValue, SSAValue]:
        """The sums of values weighed by powers, over blocks of keys, and one over the sums of powers."""
        form, keys = self.form, self.sizes.keys

        def one_block(emit: Emitter, first: SSAValue, carried: Carried) -> Carried:
            sums, *state = carried
            is_whole = isinstance(keys, int) and keys % step == 0
            part = first, step if is_whole else _minimum(emit, step, emit.minus(keys, first))
            block = replace(self, emit=emit)
            scores = block._scores(queries, part)
            powers, factors, softmax = OnlineSoftmax(*state).add(emit, scores, part[1], form.lanes)
            sums = block._rescaled(sums, factors, block._weighed(powers, part))
            return [sums, softmax.tops, softmax.totals]

        start = OnlineSoftmax.start(self.emit, form.lanes)
        zeros = self._filled(self.emit.empty(f32, [form.block, form.columns]))
        sums, *state = self.emit.loop(0, keys, step, [zeros, start.tops, start.totals], one_block)
        softmax = OnlineSoftmax(*state)
        return sums, softmax.inverses(self.emit, form.lanes, zero_masked=self._zero_masked)

    def _cut(self, value: SSAValue, rows: _Range, columns: _Range) -> Read:
        """Rows and columns of an operand in the block's batch, and how loops (row, column) read them."""
        batch = self.at.batch_of(value)
        ones = (1,) * len(batch)
        block = Slice((*batch, rows[0], columns[0]), (*ones, rows[1], columns[1]), (*ones, 1, 1))
        zeros = [AffineExpr.constant(0)] * len(batch)
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        return self.emit.extract(value, block), AffineMap(2, 0, (*zeros, d0, d1))

    def _turned(self, value: SSAValue, part: _Range, factor: float = 1) -> SSAValue:
        """Columns of an operand's rows in the block as rows, times a factor, with zeros to whole vectors."""
        scalars, width = Scalars(f32), part[1]
        rows, by_row = self._cut(value, (self.at.first, self.at.count), part)
        columns, pads = self.emit.empty(f32, [width, self.form.lanes]), self.form.lanes - self.form.block
        if self.at.count != self.form.block:  # how many are missing is known at run time only
            columns = self._filled(columns)
        elif pads:
            rest = Slice((0, self.form.block), (width, pads), (1, 1))
            columns = self.emit.insert(self._filled(self.emit.extract(columns, rest)), columns, rest)
        whole = Slice((0, 0), (width, self.at.count), (1, 1))
        turned = self._generic(
            [(rows, by_row.compose(projection(2, [1, 0])))],
            (self.emit.extract(columns, whole), projection(2, [0, 1])),
            [PARALLEL] * 2,
            lambda s: s[0] if factor == 1 else scalars.multiply(s[0], scalars.constant(factor)),
        )
        return self.emit.insert(turned, columns, whole)

    def _filled(self, tensor: SSAValue) -> SSAValue:
        """A tensor of zeros in the place of another."""
        return self.emit.value(FillOp([self.emit.constants.zero(f32)], [tensor]))

    def _queries(self) -> SSAValue:
        """The queries of the block, scaled: [depth, queries]."""
        return self._turned(self.op.q, (0, self.form.depth), self.op.scale.value.data)

    def _scores(self, queries: SSAValue, part: _Range) -> SSAValue:
        """The scores of the block and some keys: [keys, queries]."""
        keys, by_row = self._cut(self.op.k, part, (0, self.form.depth))
        reads = (keys, by_row.compose(projection(3, [0, 2]))), (queries, projection(3, [2, 1]))
        sizes = [part[1], self.form.lanes]
        scores = self._sum_of_products(reads, sizes, projection(3, [0, 1]))
        if self.op.mask is None:
            return scores
        reads = [(scores, projection(2, [0, 1])), self._mask(self.op.mask, part)]
        write = (self.emit.empty(f32, sizes), projection(2, [0, 1]))
        return self._elementwise(reads, write, lambda s: Scalars(f32).add(s[0], s[1]))

    def _mask(self, mask: SSAValue, part: _Range) -> Read:
        """How loops (key, query) read the mask of the block and some keys."""
        own = dims_of(mask.type)
        is_of_keys = bool(own) and own[-1] != 1
        columns: _Range = part if is_of_keys else (0, 1)
        if len(own) > 1 and own[-2] != 1:
            found, by_row = self._turned(mask, columns), projection(2, [0, 1])
        elif len(own) > 1:
            found, by_row = self._cut(mask, (0, 1), columns)
            by_row = by_row.compose(AffineMap(2, 0, (AffineExpr.constant(0), AffineExpr.dimension(0))))
        elif is_of_keys:
            found = self.emit.extract(mask, Slice((part[0],), (part[1],), (1,)))
            by_row = projection(2, [0])
        else:
            found, by_row = mask, projection(2, [0] * len(own))
        if is_of_keys or not own:
            return found, by_row
        # One number for all keys stands where the first one's would.
        only = AffineMap(2, 0, (AffineExpr.constant(0), AffineExpr.dimension(1)))
        return found, by_row.compose(only)

    def _weighed(self, powers: SSAValue, part: _Range) -> SSAValue:
        """The values of some keys weighed by the powers, summed: [queries, columns]."""
        form = self.form
        powers = self.emit.extract(powers, Slice((0, 0), (part[1], form.block), (1, 1)))
        values, by_row = self._cut(self.op.v, part, (0, form.columns))
        reads = (powers, projection(3, [2, 0])), (values, by_row.compose(projection(3, [2, 1])))
        return self._sum_of_products(reads, [form.block, form.columns], projection(3, [0, 1]))

    def _rescaled(self, sums: SSAValue, factors: SSAValue, more: SSAValue) -> SSAValue:
        """The sums so far, each query's times its factor, and more."""
        scalars, identity = Scalars(f32), AffineMap.identity(2)
        factors = self.emit.extract(factors, Slice((0,), (self.form.block,), (1,)))
        reads = [(factors, projection(2, [0])), (more, identity)]
        return self._elementwise(
            reads, (sums, identity), lambda s: scalars.add(scalars.multiply(s[2], s[0]), s[1])
        )

    def _normalized(self, sums: SSAValue, inverses: SSAValue, y: SSAValue) -> SSAValue:
        """`y` with the sums of the block, each query's times its number."""
        emit, form, at = self.emit, self.form, self.at
        if at.count != form.block:
            sums = emit.extract(sums, Slice((0, 0), (at.count, form.columns), (1, 1)))
        inverses = emit.extract(inverses, Slice((0,), (at.count,), (1,)))
        ones = (1,) * len(form.batch)
        block = Slice((*at.batch, at.first, 0), (*ones, at.count, form.columns), (*ones, 1, 1))
        rank = len(form.batch)
        reads = [(sums, projection(rank + 2, [rank, rank + 1])), (inverses, projection(rank + 2, [rank]))]
        write = (emit.extract(y, block), AffineMap.identity(rank + 2))
        result = self._elementwise(reads, write, lambda s: Scalars(f32).multiply(s[0], s[1]))
        return emit.insert(result, y, block)

    def _elementwise(self, reads: Sequence[Read], write: Read, body: Body) -> SSAValue:
        return self._generic(reads, write, [PARALLEL] * write[1].num_dims, body)

    def _sum_of_products(self, reads: Sequence[Read], sizes: Sequence[Index], map: AffineMap) -> SSAValue:
        """The sum over the third loop of products, in a tensor indexed by the first two."""
        scalars = Scalars(f32)
        return self._generic(
            reads,
            (self._filled(self.emit.empty(f32, sizes)), map),
            [PARALLEL, PARALLEL, REDUCTION],
            lambda s: scalars.add(s[2], scalars.multiply(s[0], s[1])),
        )

    def _generic(
        self, reads: Sequence[Read], write: Read, loops: Sequence[IteratorTypeAttr], body: Body
    ) -> SSAValue:
        self.rewriter.insertion_point = self.emit.place
        return generic(reads, write, loops, body, self.rewriter)


def _minimum(emit: Emitter, a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return emit.value(arith.MinSIOp(emit.materialize(a), emit.materialize(b)))


def _unravel(emit: Emitter, number: SSAValue, sizes: Sequence[Index]) -> list[Index]:
    """The indices of the `number`-th element of a shape, in row-major order."""
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


PATTERNS: list[RewritePattern] = [AttentionLowering()]
