"""
Attention → loops over blocks of queries: scores with queries in lanes, a softmax a lane, the sum of values.

The two products are `linalg.generic`s that get schedules like any other; the softmax between them is
straight-line code on vectors of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_linalg.lane_softmax import LANES, Carried, lane_softmax
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
from stepwell.passes.tensor.emit import Constants, Emitter, Index, Slice
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.target import F32_BYTES

# What the scores of a block may take of the second-level cache, and its queries but for that.
_SCORES_BYTES = 256 << 10
_MOST_QUERIES = 96
# Blocks of fewer read keys and values too often, even where their scores pass the cache (256 queries on 32768
# keys: blocks of 8 take 2.4 times as long). Where the number of queries is open all blocks are as small, for
# the last one is computed whole.
_LEAST_QUERIES = 32
# Fewer blocks leave threads without work.
_ENOUGH_ITEMS = 4
# Threads share groups of blocks. A group has memory of its own for one block, which stays in the cache.
_MAX_GROUPS = 8


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
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        form = _Form.of(op)
        y = empty(tensor_type(f32, dims_of(op.result.type)), rewriter)
        emit = Emitter.before(op, Constants(enclosing_kernel(rewriter)))
        rewriter.replace(op, [], [_over_blocks(op, form, y, emit, rewriter)])


@dataclass(frozen=True)
class _Form:
    """The sizes of an op, and how its queries are grouped to blocks."""

    batch: tuple[Dim, ...]
    queries: Dim
    keys: Dim
    depth: int
    columns: int
    block: int
    """Queries in a block."""

    @staticmethod
    def of(op: graph.AttentionOp) -> _Form:
        """The form of an op. Raises: StepwellError `unsupported` for other types and open rows."""
        *batch, queries, keys = op.scores_dims()
        depth, columns = dims_of(op.q.type)[-1], dims_of(op.v.type)[-1]
        if element_of_value(op.q) != f32 or not depth.is_static or not columns.is_static:
            raise StepwellError(
                "unsupported",
                op,
                f"a kernel of graph.attention needs f32 rows of known size, found {op.q.type}, {op.v.type}",
                help="run `legalize{set=kernels}` before",
            )
        block = _block_of(prod(batch, start=Dim.of(1)), queries, keys)
        return _Form(tuple(batch), queries, keys, depth.value, columns.value, block)

    @property
    def lanes(self) -> int:
        """The queries of a block, rounded up to whole vectors."""
        return _whole_vectors(self.block)

    @property
    def blocks(self) -> Dim:
        """Blocks of queries."""
        return self.queries.ceildiv(self.block)

    @property
    def items(self) -> Dim:
        """All blocks of all batches."""
        return prod(self.batch, start=Dim.of(1)) * self.blocks

    @property
    def share(self) -> Dim:
        """The blocks of a group."""
        return self.items.ceildiv(_MAX_GROUPS)

    @property
    def groups(self) -> int:
        """How many groups there are; the last ones may have no blocks where their number is open."""
        return ceil(self.items.value / max(1, self.share.value)) if self.items.is_static else _MAX_GROUPS


def _block_of(batch: Dim, queries: Dim, keys: Dim) -> int:
    """The queries of a block: those that leave their scores in the cache, and waste few lanes."""
    most = _MOST_QUERIES
    if keys.is_static:
        fitting = _SCORES_BYTES // (F32_BYTES * max(1, keys.value)) // LANES * LANES
        most = max(_LEAST_QUERIES, min(most, fitting))
    if not queries.is_static:
        return _LEAST_QUERIES
    fewest, finest = (max(1, ceil(queries.value / n)) for n in (most, _LEAST_QUERIES))

    def cost(blocks: int) -> tuple[bool, int]:
        block = ceil(queries.value / blocks)
        is_idle = batch.is_static and batch.value * blocks < _ENOUGH_ITEMS
        # Scores take whole vectors, the sums of values each query.
        return is_idle, blocks * (_whole_vectors(block) + block)

    return ceil(queries.value / min(range(fewest, finest + 1), key=cost))


def _whole_vectors(queries: int) -> int:
    return ceil(queries / LANES) * LANES


@dataclass(frozen=True)
class _Sizes:
    """Extents as numbers or values, computed in front of all loops."""

    batch: Sequence[Index]
    blocks: Index
    queries: Index
    keys: Index


def _over_blocks(
    op: graph.AttentionOp, form: _Form, y: SSAValue, emit: Emitter, rewriter: PatternRewriter
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
            outside, rewriter.insertion_point = rewriter.insertion_point, emit.place
            y = _Block(op, form, sizes, emit, rewriter, _Place.of(emit, item, form, sizes)).run(carried[0])
            rewriter.insertion_point = outside
            return [y]

        return emit.loop(start, stop, 1, carried, one_item)

    return emit.loop(0, form.groups, 1, [y], one_group, parallel=True)[0]


@dataclass(frozen=True)
class _Place:
    """Where a block of queries is: its batch, its first query, and how many there are."""

    batch: Sequence[Index]
    first: Index
    count: Index

    @staticmethod
    def of(emit: Emitter, item: SSAValue, form: _Form, sizes: _Sizes) -> _Place:
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
    form: _Form
    sizes: _Sizes
    emit: Emitter
    rewriter: PatternRewriter
    at: _Place

    def run(self, y: SSAValue) -> SSAValue:
        """`y` with the results of the block."""
        scores = self._scores(self._queries())
        powers, inverses = lane_softmax(
            self.emit, scores, self.sizes.keys, self.form.lanes, zero_masked=bool(self.op.zero_masked)
        )
        self.rewriter.insertion_point = self.emit.place
        return self._values(powers, inverses, y)

    def _cut(self, value: SSAValue, start: Index, count: Index, width: Index) -> Read:
        """Rows of an operand in the block's batch, and how loops (row, column) read them."""
        batch = self.at.batch_of(value)
        ones = (1,) * len(batch)
        block = Slice((*batch, start, 0), (*ones, count, width), (*ones, 1, 1))
        zeros = [AffineExpr.constant(0)] * len(batch)
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        return self.emit.extract(value, block), AffineMap(2, 0, (*zeros, d0, d1))

    def _turned(self, value: SSAValue, width: Index, factor: float = 1) -> SSAValue:
        """The block's rows of an operand as columns, times a factor, and zeros up to whole vectors."""
        scalars = Scalars(f32)
        rows, by_row = self._cut(value, self.at.first, self.at.count, width)
        columns, pads = self.emit.empty(f32, [width, self.form.lanes]), self.form.lanes - self.form.block
        if self.at.count != self.form.block:  # how many are missing is known at run time only
            columns = self._filled(columns)
        elif pads:
            rest = Slice((0, self.form.block), (width, pads), (1, 1))
            columns = self.emit.insert(self._filled(self.emit.extract(columns, rest)), columns, rest)
        whole = Slice((0, 0), (width, self.at.count), (1, 1))
        part = generic(
            [(rows, by_row.compose(projection(2, [1, 0])))],
            (self.emit.extract(columns, whole), projection(2, [0, 1])),
            [PARALLEL] * 2,
            lambda s: s[0] if factor == 1 else scalars.multiply(s[0], scalars.constant(factor)),
            self.rewriter,
        )
        return self.emit.insert(part, columns, whole)

    def _filled(self, tensor: SSAValue) -> SSAValue:
        """A tensor of zeros in the place of another."""
        return self.emit.value(FillOp([self.emit.constants.zero(f32)], [tensor]))

    def _queries(self) -> SSAValue:
        """The queries of the block, scaled: [depth, queries]."""
        return self._turned(self.op.q, self.form.depth, self.op.scale.value.data)

    def _scores(self, queries: SSAValue) -> SSAValue:
        """The scores of the block: [keys, queries]."""
        keys, by_row = self._cut(self.op.k, 0, self.sizes.keys, self.form.depth)
        reads = (keys, by_row.compose(projection(3, [0, 2]))), (queries, projection(3, [2, 1]))
        sizes = [self.sizes.keys, self.form.lanes]
        scores = self._sum_of_products(reads, sizes, projection(3, [0, 1]))
        if self.op.mask is None:
            return scores
        reads = [(scores, projection(2, [0, 1])), self._mask(self.op.mask)]
        write = (self.emit.empty(f32, sizes), projection(2, [0, 1]))
        return self._elementwise(reads, write, lambda s: Scalars(f32).add(s[0], s[1]))

    def _mask(self, mask: SSAValue) -> Read:
        """How loops (key, query) read the mask of the block."""
        own = dims_of(mask.type)
        width: Index = self.sizes.keys if own and own[-1] != 1 else 1
        if len(own) > 1 and own[-2] != 1:
            part, by_row = self._turned(mask, width), projection(2, [0, 1])
        elif len(own) > 1:
            part, by_row = self._cut(mask, 0, 1, width)
            by_row = by_row.compose(AffineMap(2, 0, (AffineExpr.constant(0), AffineExpr.dimension(0))))
        else:
            part, by_row = mask, projection(2, [0] * len(own))
        if width != 1 or not own:
            return part, by_row
        # One number for all keys stands where the first one's would.
        only = AffineMap(2, 0, (AffineExpr.constant(0), AffineExpr.dimension(1)))
        return part, by_row.compose(only)

    def _values(self, powers: SSAValue, inverses: SSAValue, y: SSAValue) -> SSAValue:
        """`y` with the values weighed by the powers, and divided by their sums."""
        emit, form, at = self.emit, self.form, self.at
        powers = emit.extract(powers, Slice((0, 0), (self.sizes.keys, form.block), (1, 1)))
        values, by_row = self._cut(self.op.v, 0, self.sizes.keys, form.columns)
        reads = (powers, projection(3, [2, 0])), (values, by_row.compose(projection(3, [2, 1])))
        sums = self._sum_of_products(reads, [form.block, form.columns], projection(3, [0, 1]))
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
        return generic(reads, write, [PARALLEL] * write[1].num_dims, body, self.rewriter)

    def _sum_of_products(self, reads: Sequence[Read], sizes: Sequence[Index], map: AffineMap) -> SSAValue:
        """The sum over the third loop of products, in a tensor indexed by the first two."""
        scalars = Scalars(f32)
        return generic(
            reads,
            (self._filled(self.emit.empty(f32, sizes)), map),
            [PARALLEL, PARALLEL, REDUCTION],
            lambda s: scalars.add(s[2], scalars.multiply(s[0], s[1])),
            self.rewriter,
        )


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
