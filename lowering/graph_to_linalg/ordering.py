"""Loops over rows with carried values, as scans and searches need them, and `graph.reverse_sequence`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.graph_to_linalg.scalars import Scalars
from stepwell.lowering.graph_to_linalg.slices import INDICES, collected
from stepwell.lowering.graph_to_linalg.support import extent, inserted, projection

LoopBody: TypeAlias = "Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits an iteration: from the index and the carried values to the next carried values."""
RowBody: TypeAlias = "Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits the work for one row: from the indices of all loops around it and the carried values."""


def counted_loop(size: SSAValue, carried: Sequence[SSAValue], body: LoopBody) -> Sequence[SSAValue]:
    """An `scf.for` from 0 to a size with carried values, emitted into the current implicit builder."""
    block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    with ImplicitBuilder(block) as (index, *inner):
        scf.YieldOp(*body(index, inner))
    return scf.ForOp(INDICES.constant(0), size, INDICES.constant(1), list(carried), Region(block)).results


def row_by_row(
    sizes: Sequence[SSAValue], carried: Sequence[SSAValue], row: RowBody, rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """Nested loops from 0 to each of `sizes` around the body `row`; returns the values carried to the end."""

    def nest(outer: list[SSAValue], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if len(outer) == len(sizes):
            return row(outer, carried)
        return counted_loop(sizes[len(outer)], carried, lambda index, inner: nest([*outer, index], inner))

    return inserted(lambda: nest([], carried), rewriter)


class ReverseSequenceLowering(RewritePattern):
    """`graph.reverse_sequence` → elements read at indices counted back from each sequence's length."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReverseSequenceOp, rewriter: PatternRewriter) -> None:
        """Read at `length - 1 - t` for t below the batch entry's length, else at t."""
        batch, time = op.batch_axis.value.data, op.time_axis.value.data
        scalars = Scalars(element_of_value(op.lengths))
        size = extent(dims_of(op.input.type)[time], rewriter)

        def positions(loops: Sequence[SSAValue], read: Sequence[SSAValue]) -> list[SSAValue]:
            length = INDICES.minimum(INDICES.from_scalar(read[0], scalars), size)
            inside = arith.CmpiOp(loops[time], length, "slt").result
            back = INDICES.subtract(INDICES.subtract(length, INDICES.constant(1)), loops[time])
            at = arith.SelectOp(inside, back, loops[time]).result
            return [at if i == time else loop for i, loop in enumerate(loops)]

        rank = len(dims_of(op.result.type))
        reads = [(op.lengths, projection(rank, [batch]))]
        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, reads, positions, rewriter)])
