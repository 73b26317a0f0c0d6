"""Selections of boxes of the graph level → operators of ONNX."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.extents import dims_vector
from stepwell.lowering.graph_to_onnx.nodes import insert_constant, insert_integers, insert_node, vector_type
from stepwell.lowering.graph_to_onnx.shape import count_up_to
from stepwell.lowering.graph_to_onnx.support import OnnxExport, element_of, is_known
from stepwell.runtime.dims import UNKNOWN, Dim

_OPEN = Dim.symbol(UNKNOWN)


class NonMaxSuppressionExport(OnnxExport):
    """
    `graph.non_max_suppression` → `NonMaxSuppression`, whose rows are those of `graph.join_parts`; the boxes
    of each class, and their numbers, are scattered out of the rows where other ops use them.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NonMaxSuppressionOp, rewriter: PatternRewriter) -> None:
        """Select, and hand the rows to the ops that join the parts; decline an unknown limit."""
        dims = dims_of(op.chosen.type)
        if not is_known(op.most) or any(dim.is_unknown for dim in dims):
            return
        joins = [
            use.operation
            for use in op.chosen.uses
            if isinstance(use.operation, graph.JoinPartsOp) and use.operation.counts == op.counts
        ]
        type = joins[0].result.type if joins else tensor_type(i64, [_OPEN, 3])
        operands = [op.boxes, op.scores, dims_vector(op.most.get(), rewriter), op.overlap, op.least]
        rows = insert_node(
            rewriter, onnx.NonMaxSuppressionOp, operands, type, center_point_box=bool(op.center.value.data)
        )
        for join in joins:
            rewriter.replace(join, [], [rows])
        places = _columns(rows, 0, 2, rewriter)
        counts = _counts(places, dims[:2], rewriter)
        numbers = _numbers_in_class(places, counts, rewriter)
        at = insert_node(rewriter, onnx.ConcatOp, [places, numbers], tensor_type(i64, [_OPEN, 3]), axis=1)
        boxes = _flat(_columns(rows, 2, 3, rewriter), rewriter)
        chosen = insert_node(rewriter, onnx.ScatterNDOp, [_zeros(dims, rewriter), at, boxes], op.chosen.type)
        rewriter.replace(op, [], [chosen, counts])


def _zeros(dims: tuple[Dim, ...], rewriter: PatternRewriter) -> SSAValue:
    operands = [insert_constant(rewriter, np.array(0, np.int64)), dims_vector(dims, rewriter)]
    return insert_node(rewriter, onnx.ExpandOp, operands, tensor_type(i64, dims))


def _columns(rows: SSAValue, begin: int, end: int, rewriter: PatternRewriter) -> SSAValue:
    bounds = [insert_integers(rewriter, [number]) for number in (begin, end, 1)]
    type = tensor_type(i64, [_OPEN, end - begin])
    return insert_node(rewriter, onnx.SliceOp, [rows, *bounds], type)


def _flat(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    shape = insert_integers(rewriter, [-1])
    return insert_node(rewriter, onnx.ReshapeOp, [value, shape], tensor_type(i64, [_OPEN]))


def _counts(places: SSAValue, dims: tuple[Dim, ...], rewriter: PatternRewriter) -> SSAValue:
    """The number of rows of each batch and class."""
    one = insert_constant(rewriter, np.array(1, np.int64))
    size = insert_node(rewriter, onnx.ShapeOp, [places], vector_type(1), start=0, end=1)
    ones = insert_node(rewriter, onnx.ExpandOp, [one, size], tensor_type(i64, [_OPEN]))
    operands = [_zeros(dims, rewriter), places, ones]
    return insert_node(rewriter, onnx.ScatterNDOp, operands, tensor_type(i64, dims), reduction="add")


def _numbers_in_class(places: SSAValue, counts: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """The number of each row among those of its batch and class, as a column: rows are in their order."""
    open = tensor_type(i64, [_OPEN])
    zero = insert_constant(rewriter, np.array(0, np.int64))
    before = insert_node(rewriter, onnx.CumSumOp, [_flat(counts, rewriter), zero], open, exclusive=True)
    shape = insert_node(rewriter, onnx.ShapeOp, [counts], vector_type(2))
    before = insert_node(rewriter, onnx.ReshapeOp, [before, shape], counts.type, allowzero=1)
    first = insert_node(rewriter, onnx.GatherNDOp, [before, places], open)
    size = insert_node(rewriter, onnx.ShapeOp, [places], vector_type(1), start=0, end=1)
    limit = insert_node(rewriter, onnx.SqueezeOp, [size], tensor_type(i64, []))
    one = insert_constant(rewriter, np.array(1, np.int64))
    row = insert_node(rewriter, onnx.RangeOp, [zero, limit, one], open)
    number = insert_node(rewriter, onnx.SubOp, [row, first], open)
    column = insert_integers(rewriter, [1])
    return insert_node(rewriter, onnx.UnsqueezeOp, [number, column], tensor_type(i64, [_OPEN, 1]))


class JoinPartsExport(OnnxExport):
    """`graph.join_parts` → the positions below the counts by `NonZero`, and the elements there."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.JoinPartsOp, rewriter: PatternRewriter) -> None:
        """Compare with a `Range` along the last axis; decline an unknown size of parts."""
        dims = dims_of(op.parts.type)
        if dims[-1].is_unknown:
            return
        rank = len(dims)
        last = insert_integers(rewriter, [rank - 1])
        counts = insert_node(rewriter, onnx.UnsqueezeOp, [op.counts, last], tensor_type(i64, [*dims[:-1], 1]))
        numbers = count_up_to(dims[-1], rewriter)
        taken = insert_node(rewriter, onnx.LessOp, [numbers, counts], tensor_type(i1, dims))
        found = insert_node(rewriter, onnx.NonZeroOp, [taken], tensor_type(i64, [rank, _OPEN]))
        at = insert_node(rewriter, onnx.TransposeOp, [found], tensor_type(i64, [_OPEN, rank]), perm=[1, 0])
        elements = insert_node(rewriter, onnx.GatherNDOp, [op.parts, at], tensor_type(i64, [_OPEN]))
        column = insert_node(
            rewriter,
            onnx.UnsqueezeOp,
            [elements, insert_integers(rewriter, [1])],
            tensor_type(element_of(elements), [_OPEN, 1]),
        )
        leading = _columns(at, 0, rank - 1, rewriter)
        joined = insert_node(rewriter, onnx.ConcatOp, [leading, column], op.result.type, axis=1)
        rewriter.replace(op, [], [joined])
