"""The first k elements of rows, by a search that maintains them; and the loops over rows of both forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import UnitAttr, i1, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.row_loops import RowBody, counted_loop
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.linalg_builder.slices import INDICES, layer_of
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    extent,
    filled,
    generic,
    inserted,
    projection,
)
from stepwell.dialects.linalg_builder.support import counted_loop as inserted_loop
from stepwell.dialects.sched import PARALLEL as INDEPENDENT
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.tensor.forms.top_k_rounds import Rounds, TopKRow
from stepwell.runtime.dims import Dim


def top_k_by_rounds(
    op: graph.TopKOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """Loops over all other axes around the rounds of one row."""
    return _over_rows(op, inits, lambda _: Rounds(op, rewriter, sizes["block"]).row, rewriter)


def top_k_by_search(
    op: graph.TopKOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """
    Loops over all other axes around the search along one row.

    The search maintains the first `k` in order, in the results themselves. A block of elements is skipped if
    none of them comes before the k-th so far. Otherwise its elements are compared one by one; an element that
    comes before the k-th is inserted, and shifts all results after it.
    """
    return _over_rows(op, inits, lambda k: _Search(op, rewriter, k(), sizes.get("block")).row, rewriter)


def _over_rows(
    op: graph.TopKOp,
    inits: Sequence[SSAValue],
    of_row: Callable[[Callable[[], SSAValue]], RowBody],
    rewriter: PatternRewriter,
) -> Sequence[SSAValue]:
    """Parallel loops over all other axes around what `of_row` emits; it may ask for the value of k before."""
    dims, axis = dims_of(op.chosen.type), op.axis.value.data
    extents = [extent(dim, rewriter) for i, dim in enumerate(dims) if i != axis]
    row = of_row(lambda: extent(dims[axis], rewriter))

    def nest(outer: list[SSAValue], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if len(outer) == len(extents):
            return row(outer, carried)
        count = extents[len(outer)]
        rows = inserted_loop(count, carried, lambda i, inner: nest([*outer, i], inner), rewriter)
        if isinstance(loop := rows[0].owner, scf.ForOp):
            loop.attributes[INDEPENDENT] = UnitAttr()
        return rows

    return nest([], inits)


@dataclass
class _Order:
    """The order of two elements, descending or ascending; NaN counts as greater than all numbers."""

    scalars: Scalars
    largest: bool

    def before(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a comes strictly before b."""
        if not self.scalars.is_float:
            return self.scalars.compare("gt" if self.largest else "lt", a, b)
        # "Unordered or beyond" is right for a NaN on the greater side; a NaN on the other makes it false.
        lesser = b if self.largest else a
        beyond = arith.CmpfOp(a, b, "ugt" if self.largest else "ult").result
        return arith.AndIOp(beyond, arith.CmpfOp(lesser, lesser, "ord").result).result


@dataclass(frozen=True)
class _Search(TopKRow):
    """The search for the first k elements along one axis, row by row."""

    k: SSAValue
    block: int | None
    """The elements that are compared at once with the k-th; None where they are not neighbours in memory."""

    @property
    def _order(self) -> _Order:
        """The order in which elements are searched."""
        return _Order(self.scalars, bool(self.op.largest.value.data))

    def row(self, outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Both results for a row: the first k elements are inserted, then blocks of the rest are searched."""
        k, size = dims_of(self.op.chosen.type)[self.axis], dims_of(self.op.input.type)[self.axis]
        kept = self._visit_all(outer, Dim.of(0), k, outputs)
        if (searched := self.block) is None:
            return self._visit_all(outer, k, size - k, kept)
        blocks = (size - k) // searched
        block_size = extent(Dim.of(searched), self.rewriter)

        def step(index: SSAValue, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
            base = inserted(lambda: INDICES.add(self.k, INDICES.multiply(index, block_size)), self.rewriter)
            some = self._comes_before(outer, base, kept[0], searched)

            def visit_some() -> Sequence[SSAValue]:
                count = arith.SelectOp(some, block_size, INDICES.constant(0)).result
                return counted_loop(
                    count, kept, lambda i, kept: self._visit(outer, INDICES.add(base, i), kept)
                )

            return inserted(visit_some, self.rewriter)

        kept = inserted_loop(extent(blocks, self.rewriter), kept, step, self.rewriter)
        return self._visit_all(outer, k + blocks * searched, size - k - blocks * searched, kept)

    def _comes_before(
        self, outer: Sequence[SSAValue], base: SSAValue, kept: SSAValue, searched: int
    ) -> SSAValue:
        """Whether any element of a block comes before the k-th so far."""
        axis, rewriter = self.axis, self.rewriter
        last = inserted(
            lambda: self._read(kept, outer, INDICES.subtract(self.k, INDICES.constant(1))), rewriter
        )
        at = dict(enumerate(self.at(outer, base)))
        block = layer_of(self.op.input, at, rewriter, {axis: searched})
        order, zero = self._order, AffineExpr.constant(0)
        positions = [AffineExpr.dimension(1) if i == axis else zero for i in range(len(dims_of(block.type)))]
        some = generic(
            [(block, AffineMap(2, 0, tuple(positions)))],
            (filled(tensor_type(i1, [1]), 0, rewriter), projection(2, [0])),
            [PARALLEL, REDUCTION],
            lambda s: arith.OrIOp(s[1], order.before(s[0], last)).result,
            rewriter,
        )
        at = extent(Dim.of(0), rewriter)
        return rewriter.insert(tensor.ExtractOp(some, at, i1)).result

    def _visit_all(
        self, outer: Sequence[SSAValue], first: Dim, count: Dim, kept: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The results after `count` elements from `first` on were compared one by one."""
        start, steps = extent(first, self.rewriter), extent(count, self.rewriter)
        return inserted(
            lambda: counted_loop(
                steps, kept, lambda i, kept: self._visit(outer, INDICES.add(start, i), kept)
            ),
            self.rewriter,
        )

    def _visit(
        self, outer: Sequence[SSAValue], index: SSAValue, kept: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The results after an element, inserted if it precedes the k-th so far or fewer than k are there."""
        value = self._read(self.op.input, outer, index)
        last = INDICES.subtract(self.k, INDICES.constant(1))
        comes_first = self._order.before(value, self._read(kept[0], outer, last))
        takes = arith.OrIOp(comes_first, arith.CmpiOp(index, self.k, "slt").result).result
        once = INDICES.minimum(self.k, INDICES.constant(1))  # k may be 0
        times = arith.SelectOp(takes, once, INDICES.constant(0)).result
        return counted_loop(times, kept, lambda _, kept: self._insert(outer, index, value, kept))

    def _insert(
        self, outer: Sequence[SSAValue], index: SSAValue, value: SSAValue, kept: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The results with an element inserted after all that precede or equal it."""
        filled_slots = INDICES.minimum(index, self.k)
        last = INDICES.minimum(index, INDICES.subtract(self.k, INDICES.constant(1)))

        # Count the elements that stay before it, shift the others by one, and store it between them.
        def count(slot: SSAValue, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            is_after = self._order.before(value, self._read(kept[0], outer, slot))
            one = arith.SelectOp(is_after, INDICES.constant(0), INDICES.constant(1)).result
            return [INDICES.add(so_far[0], one)]

        def push(step: SSAValue, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
            slot = INDICES.subtract(last, step)
            there = INDICES.subtract(slot, INDICES.constant(1))
            elements = [self._element(tensor, outer, there) for tensor in kept]
            return self._store(elements, kept, outer, slot)

        (position,) = counted_loop(filled_slots, [INDICES.constant(0)], count)
        pushed = counted_loop(INDICES.subtract(last, position), kept, push)
        number = arith.IndexCastOp(index, i64).result
        return self._store([self.scalars.narrow(value), number], pushed, outer, position)

    def _store(
        self,
        elements: Sequence[SSAValue],
        into: Sequence[SSAValue],
        outer: Sequence[SSAValue],
        slot: SSAValue,
    ) -> list[SSAValue]:
        """The two results with an element and its index stored at position `slot` of a row."""
        at = self.at(outer, slot)
        return [tensor.InsertOp(new, old, at).result for new, old in zip(elements, into, strict=True)]

    def _read(self, source: SSAValue, outer: Sequence[SSAValue], index: SSAValue) -> SSAValue:
        """An element of a row in the type to compute in."""
        return self.scalars.widen(self._element(source, outer, index))

    def _element(self, source: SSAValue, outer: Sequence[SSAValue], index: SSAValue) -> SSAValue:
        """An element of a row in its storage type."""
        element = signless(tensor_of(source).element_type)
        return tensor.ExtractOp(source, self.at(outer, index), element).result
