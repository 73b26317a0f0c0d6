"""Operators that order elements → loops that carry what is chosen, and reads at computed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import BoolAttr, IndexType, i1, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.graph_to_linalg.scalars import Scalars, signless
from stepwell.lowering.graph_to_linalg.slices import Indices, collected
from stepwell.lowering.graph_to_linalg.support import empty, extent, projection

LoopBody: TypeAlias = "Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits an iteration: from the index and the carried values to the next carried values."""
RowBody: TypeAlias = "Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]"
"""The same for a row: from the indices of all loops around it."""


def counted_loop(size: SSAValue, carried: Sequence[SSAValue], body: LoopBody) -> Sequence[SSAValue]:
    """A loop from 0 to a size that carries values, into the implicit builder that is open around it."""
    block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    with ImplicitBuilder(block) as (index, *inner):
        scf.YieldOp(*body(index, inner))
    return scf.ForOp(Indices.constant(0), size, Indices.constant(1), list(carried), Region(block)).results


@dataclass
class Order:
    """Which of two elements comes first; NaN counts as greater than all numbers."""

    scalars: Scalars
    largest: bool

    def before(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a comes strictly before b."""
        before = self.scalars.compare("gt" if self.largest else "lt", a, b)
        if not self.scalars.is_float:
            return before
        first, second = (a, b) if self.largest else (b, a)
        only_first = arith.AndIOp(self.scalars.is_nan(first), self._is_number(second)).result
        return arith.OrIOp(before, only_first).result

    def _is_number(self, a: SSAValue) -> SSAValue:
        return self.scalars.compare("eq", a, a)


class TopKLowering(RewritePattern):
    """
    `graph.top_k` → one walk along each row, which keeps the first `k` in order, in the results themselves.

    An element that comes before the last one kept is inserted; for all others the loop that inserts is empty.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TopKOp, rewriter: PatternRewriter) -> None:
        outputs = [empty(tensor_of(result), rewriter) for result in op.results]
        dims = dims_of(op.chosen.type)
        axis = op.axis.value.data
        outer = [extent(dim, rewriter) for i, dim in enumerate(dims) if i != axis]
        search = _Search(op, extent(dims[axis], rewriter), extent(dims_of(op.input.type)[axis], rewriter))
        rewriter.replace(op, [], list(row_by_row(outer, outputs, search.row, rewriter)))


def row_by_row(
    sizes: Sequence[SSAValue], carried: Sequence[SSAValue], row: RowBody, rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """Loops from 0 to sizes around what is done for each row."""

    def nest(outer: list[SSAValue], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if len(outer) == len(sizes):
            return row(outer, carried)
        return counted_loop(sizes[len(outer)], carried, lambda index, inner: nest([*outer, index], inner))

    block = Block()
    with ImplicitBuilder(block):
        results = nest([], carried)
    for inner in list(block.ops):
        inner.detach()
        rewriter.insert(inner)
    return results


@dataclass
class _Search:
    op: graph.TopKOp
    k: SSAValue
    size: SSAValue

    @property
    def _scalars(self) -> Scalars:
        return Scalars(element_of_value(self.op.input))

    @property
    def _order(self) -> Order:
        return Order(self._scalars, bool(self.op.largest.value.data))

    def row(self, outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Fill one row of both results."""
        last = Indices.subtract(self.k, Indices.constant(1))

        def visit(index: SSAValue, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = self._read(self.op.input, outer, index)
            comes_first = self._order.before(value, self._read(kept[0], outer, last))
            takes = arith.OrIOp(comes_first, arith.CmpiOp(index, self.k, "slt").result).result
            count = Indices.minimum(Indices.add(index, Indices.constant(1)), self.k)
            steps = arith.SelectOp(takes, count, Indices.constant(0)).result
            number = arith.IndexCastOp(index, i64).result
            insert = partial(self._insert, outer, index)
            # What an insertion pushes on comes before all that follows: equal elements stay in order.
            pushes = arith.ConstantOp(BoolAttr(0, i1)).result
            return counted_loop(steps, [*kept, value, number, pushes], insert)[:2]

        return counted_loop(self.size, outputs, visit)

    def _insert(
        self, outer: Sequence[SSAValue], visited: SSAValue, slot: SSAValue, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Put the better one of an element and that of a slot there, and go on with the other one."""
        values, indices, value, number, pushes = carried
        there, number_there = self._read(values, outer, slot), self._read(indices, outer, slot)
        is_free = arith.CmpiOp(slot, visited, "eq").result  # nothing is kept here yet
        comes_first = arith.OrIOp(self._order.before(value, there), pushes).result
        wins = arith.OrIOp(comes_first, is_free).result
        kept, number_kept = self._choose(wins, (value, number), (there, number_there))
        at = self._place(outer, slot)
        stored = self._scalars.narrow(kept)
        values = tensor.InsertOp.create(operands=[stored, values, *at], result_types=[values.type])
        indices = tensor.InsertOp.create(operands=[number_kept, indices, *at], result_types=[indices.type])
        next_one = self._choose(wins, (there, number_there), (value, number))
        return [*values.results, *indices.results, *next_one, wins]

    @staticmethod
    def _choose(
        condition: SSAValue, yes: tuple[SSAValue, SSAValue], no: tuple[SSAValue, SSAValue]
    ) -> list[SSAValue]:
        return [arith.SelectOp(condition, a, b).result for a, b in zip(yes, no, strict=True)]

    def _read(self, source: SSAValue, outer: Sequence[SSAValue], index: SSAValue) -> SSAValue:
        """An element of a row, as wide as it is computed with."""
        element = tensor_of(source).element_type
        read = tensor.ExtractOp.create(
            operands=[source, *self._place(outer, index)], result_types=[signless(element)]
        )
        return read.results[0] if element == i64 else self._scalars.widen(read.results[0])

    def _place(self, outer: Sequence[SSAValue], index: SSAValue) -> list[SSAValue]:
        axis = self.op.axis.value.data
        return [*outer[:axis], index, *outer[axis:]]


class ReverseSequenceLowering(RewritePattern):
    """`graph.reverse_sequence` → elements at places counted from each length."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReverseSequenceOp, rewriter: PatternRewriter) -> None:
        batch, time = op.batch_axis.value.data, op.time_axis.value.data
        scalars = Scalars(element_of_value(op.lengths))
        size = extent(dims_of(op.input.type)[time], rewriter)

        def places(loops: Sequence[SSAValue], read: Sequence[SSAValue]) -> list[SSAValue]:
            length = Indices.minimum(Indices.from_scalar(read[0], scalars), size)
            inside = arith.CmpiOp(loops[time], length, "slt").result
            back = Indices.subtract(Indices.subtract(length, Indices.constant(1)), loops[time])
            at = arith.SelectOp(inside, back, loops[time]).result
            return [at if i == time else loop for i, loop in enumerate(loops)]

        rank = len(dims_of(op.result.type))
        reads = [(op.lengths, projection(rank, [batch]))]
        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, reads, places, rewriter)])


PATTERNS: list[RewritePattern] = [TopKLowering(), ReverseSequenceLowering()]
