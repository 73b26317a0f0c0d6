"""Running reductions → a loop along the axis that carries what is combined so far, one layer at a step."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg import ordering
from stepwell.lowering.graph_to_linalg.contraction import accumulator, rounded
from stepwell.lowering.graph_to_linalg.recurrent import counted_loop
from stepwell.lowering.graph_to_linalg.reduction import KINDS
from stepwell.lowering.graph_to_linalg.scalars import Scalars, signless
from stepwell.lowering.graph_to_linalg.slices import Indices, layer_of, with_layer
from stepwell.lowering.graph_to_linalg.support import elementwise, empty, extent, filled
from stepwell.runtime.dims import Dim


class ScanLowering(RewritePattern):
    """
    `graph.scan` → an `scf.for` along the axis, that carries the layer combined so far and the result.

    An exclusive scan writes the layer before the step's own elements join it. Along the innermost axis each
    row is walked by itself: the elements of a layer would lie far apart.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScanOp, rewriter: PatternRewriter) -> None:
        type, axis = tensor_of(op.result), op.axis.value.data
        dims, kind = dims_of(type), KINDS[op.kind.data]
        if all(dim == Dim.of(1) for dim in dims[axis + 1 :]):
            rewriter.replace(op, [], [_by_rows(op, rewriter)])
            return
        kept = accumulator(type.element_type)
        scalars = Scalars(kept)
        layer = tensor_type(kept, [Dim.of(1) if i == axis else dim for i, dim in enumerate(dims)])
        count = extent(dims[axis], rewriter)
        last = extent(dims[axis] - 1, rewriter) if bool(op.reverse) else None

        def step(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            so_far, result = carried
            at = index if last is None else rewriter.insert(arith.SubiOp(last, index)).result
            x = layer_of(op.input, {axis: at}, rewriter)
            joined = elementwise(layer, [so_far, x], lambda s: kind.combine(scalars, *s), op, rewriter)
            written = rounded(so_far if bool(op.exclusive) else joined, type.element_type, rewriter)
            return [joined, with_layer(written, result, {axis: at}, rewriter)]

        start = filled(layer, kind.start(scalars), rewriter)
        _, result = counted_loop(count, [start, empty(type, rewriter)], step, rewriter)
        rewriter.replace(op, [], [result])


def _by_rows(op: graph.ScanOp, rewriter: PatternRewriter) -> SSAValue:
    """The result of a scan along the innermost axis, one row after the other."""
    type, axis = tensor_of(op.result), op.axis.value.data
    dims, scalars = dims_of(type), Scalars(type.element_type)
    count, inner = extent(dims[axis], rewriter), len(dims) - axis - 1

    def row(outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        last = Indices.subtract(count, Indices.constant(1))

        def step(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            so_far, result = carried
            place = Indices.subtract(last, index) if bool(op.reverse) else index
            at = [*outer, place, *[Indices.constant(0)] * inner]
            read = tensor.ExtractOp.create(
                operands=[op.input, *at], result_types=[signless(type.element_type)]
            )
            joined = KINDS[op.kind.data].combine(scalars, so_far, scalars.widen(read.results[0]))
            stored = scalars.narrow(so_far if bool(op.exclusive) else joined)
            made = tensor.InsertOp.create(operands=[stored, result, *at], result_types=[result.type])
            return [joined, made.results[0]]

        start = scalars.constant(KINDS[op.kind.data].start(scalars))
        return ordering.counted_loop(count, [start, *outputs], step)[1:]

    sizes = [extent(dim, rewriter) for dim in dims[:axis]]
    return ordering.row_by_row(sizes, [empty(type, rewriter)], row, rewriter)[0]


PATTERNS: list[RewritePattern] = [ScanLowering()]
