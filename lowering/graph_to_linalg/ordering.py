"""Loops over rows with carried values, as scans and searches need them, and `graph.reverse_sequence`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import INDICES, collected
from stepwell.dialects.linalg_builder.support import extent, projection
from stepwell.dialects.types import dims_of, tensor_of


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
