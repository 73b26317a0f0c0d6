"""Tensors made from dimensions and scalars → `linalg.generic` on loop indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.scalars import Scalars
from stepwell.lowering.graph_to_linalg.slices import INDICES
from stepwell.lowering.graph_to_linalg.support import PARALLEL, empty, extent, generic, identity, loop_index
from stepwell.runtime.dims import Dim


class IotaLowering(RewritePattern):
    """`graph.iota` → a `linalg.generic` of loop indices converted to the element type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.IotaOp, rewriter: PatternRewriter) -> None:
        """Emit the index of the loop along `axis` as a number."""
        type, axis = tensor_of(op.result), op.axis.value.data
        scalars = Scalars(type.element_type)

        def body(_: Sequence[SSAValue]) -> SSAValue:
            return scalars.from_index(loop_index(axis))

        rank = len(dims_of(type))
        write = (empty(type, rewriter), identity(rank))
        rewriter.replace(op, [], [generic([], write, [PARALLEL] * rank, body, rewriter)])


class ExtentsLowering(RewritePattern):
    """
    `graph.extents`, and `graph.shape_of` of known dimensions → a vector with one dimension in each element.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExtentsOp | graph.ShapeOfOp, rewriter: PatternRewriter) -> None:
        """Take the dimensions from the attribute or, for `shape_of`, from the operand's type."""
        if isinstance(op, graph.ExtentsOp):
            dims = op.dims.get()
        else:
            dims = dims_of(op.input.type)[op.start.value.data : op.end.value.data]
        rewriter.replace(op, [], [_numbers(dims, rewriter)])


def _numbers(dims: Sequence[Dim], rewriter: PatternRewriter) -> SSAValue:
    """A vector i64 of the values of dimensions: element i is the i-th, chosen by a chain of selects."""
    sizes = [extent(dim, rewriter) for dim in dims]

    def body(_: Sequence[SSAValue]) -> SSAValue:
        chosen = INDICES.constant(0)
        for i, size in enumerate(sizes):
            here = arith.CmpiOp(loop_index(0), INDICES.constant(i), "eq").result
            chosen = arith.SelectOp(here, size, chosen).result
        return Scalars(i64).from_index(chosen)

    write = (empty(tensor_type(i64, [len(dims)]), rewriter), identity(1))
    return generic([], write, [PARALLEL], body, rewriter)
