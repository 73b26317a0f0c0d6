"""ONNX operators that read or write at positions that are data → `graph`."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, normalized_axis, rank_of


class GatherLowering(OnnxLowering):
    """`Gather`, `GatherElements` → `graph.gather`, `graph.gather_elements`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GatherOp | onnx.GatherElementsOp, rewriter: PatternRewriter) -> None:
        """Normalize the axis."""
        target = graph.GatherOp if isinstance(op, onnx.GatherOp) else graph.GatherElementsOp
        axis = normalized_axis(op.integer("axis"), rank_of(op.data, op), op)
        rewriter.replace(op, target(op.data, op.indices, axis))


class GatherNdLowering(OnnxLowering):
    """`GatherND` → `graph.gather_nd`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GatherNDOp, rewriter: PatternRewriter) -> None:
        """Copy the number of batch dimensions."""
        batch = op.integer("batch_dims") if op.has("batch_dims") else 0
        rewriter.replace(op, graph.GatherNdOp(op.data, op.indices, batch))


class ScatterLowering(OnnxLowering):
    """`ScatterElements`, and `Scatter` of old opsets → `graph.scatter_elements`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.ScatterElementsOp | onnx.ScatterOp, rewriter: PatternRewriter
    ) -> None:
        """Normalize the axis, copy the reduction."""
        axis = normalized_axis(op.integer("axis"), rank_of(op.data, op), op)
        rewriter.replace(op, graph.ScatterElementsOp(op.data, op.indices, op.updates, axis, _reduction(op)))


class ScatterNdLowering(OnnxLowering):
    """`ScatterND` → `graph.scatter_nd`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ScatterNDOp, rewriter: PatternRewriter) -> None:
        """Copy the reduction."""
        rewriter.replace(op, graph.ScatterNdOp(op.data, op.indices, op.updates, _reduction(op)))


def _reduction(op: onnx.OnnxOp) -> str:
    """The attribute `reduction` of a scatter, `none` by default."""
    return op.string("reduction") if op.has("reduction") else "none"


class OneHotLowering(ShapeLowering):
    """`OneHot` → `graph.one_hot` on wrapped indices, then a selection between the two values."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OneHotOp, rewriter: PatternRewriter) -> None:
        """Wrap negative indices, compare with the depth's positions, and select off or on value."""
        depth = self.sizes(op, "depth", op.depth, rewriter)
        assert depth is not None, "the input is not optional"
        indices = op.indices
        if is_float(element_of(indices)):
            indices = rewriter.insert(graph.CastOp(indices, i64)).result
        wrapped = self._wrapped(indices, op.depth, rewriter)
        axis = normalized_axis(op.integer("axis"), rank_of(indices, op) + 1, op)
        hot = rewriter.insert(graph.OneHotOp(wrapped, depth[0], axis)).result
        off, on = rewriter.insert(graph.SplitOp(op.values, 0, [1, 1])).results
        scalars = [rewriter.insert(graph.SqueezeOp(value, [0])).result for value in (off, on)]
        rewriter.replace(op, graph.WhereOp(hot, scalars[1], scalars[0]))

    def _wrapped(self, indices: SSAValue, depth: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """Indices with the depth added to negative ones, once."""
        element = element_of(indices)
        size = depth if element_of(depth) == element else rewriter.insert(graph.CastOp(depth, element)).result
        zero = self.scalar(0, element, rewriter)
        negative = rewriter.insert(graph.LessOp(indices, zero)).result
        moved = rewriter.insert(graph.AddOp(indices, size)).result
        return rewriter.insert(graph.WhereOp(negative, moved, indices)).result
