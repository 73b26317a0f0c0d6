"""Graph ops that read or write at positions that are data → operators of ONNX."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.nodes import insert_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of


def as_indices(value: SSAValue, rewriter: PatternRewriter, *, narrow: bool = True) -> SSAValue:
    """Indices in an element type that the operators accept: i64, and for some of them i32."""
    return value if narrow and element_of(value) == i32 else cast_to(value, i64, rewriter)


class GatherExport(OnnxExport):
    """`graph.gather` without batch dimensions, indices checked → `Gather`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherOp, rewriter: PatternRewriter) -> None:
        """Cast the indices; decline batch dimensions and unchecked indices."""
        if op.batch_dims.value.data or op.bounds.data != "check":
            return
        operands = [op.input, as_indices(op.indices, rewriter)]
        axis = op.axis.value.data
        rewriter.replace(op, [], [insert_node(rewriter, onnx.GatherOp, operands, op.result.type, axis=axis)])


class GatherElementsExport(OnnxExport):
    """`graph.gather_elements` → `GatherElements`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherElementsOp, rewriter: PatternRewriter) -> None:
        """Cast the indices, copy the axis."""
        operands = [op.input, as_indices(op.indices, rewriter)]
        axis = op.axis.value.data
        result = insert_node(rewriter, onnx.GatherElementsOp, operands, op.result.type, axis=axis)
        rewriter.replace(op, [], [result])


class GatherNdExport(OnnxExport):
    """`graph.gather_nd` → `GatherND`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherNdOp, rewriter: PatternRewriter) -> None:
        """Cast the indices to i64, copy the batch dimensions."""
        operands = [op.input, as_indices(op.indices, rewriter, narrow=False)]
        batch = op.batch_dims.value.data
        result = insert_node(rewriter, onnx.GatherNDOp, operands, op.result.type, batch_dims=batch)
        rewriter.replace(op, [], [result])


class ScatterElementsExport(OnnxExport):
    """`graph.scatter_elements` → `ScatterElements`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScatterElementsOp, rewriter: PatternRewriter) -> None:
        """Cast the indices, copy axis and reduction."""
        operands = [op.input, as_indices(op.indices, rewriter), op.updates]
        axis, how = op.axis.value.data, op.combine.data
        result = insert_node(
            rewriter, onnx.ScatterElementsOp, operands, op.result.type, axis=axis, reduction=how
        )
        rewriter.replace(op, [], [result])


class ScatterNdExport(OnnxExport):
    """`graph.scatter_nd` → `ScatterND`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScatterNdOp, rewriter: PatternRewriter) -> None:
        """Cast the indices to i64, copy the reduction."""
        operands = [op.input, as_indices(op.indices, rewriter, narrow=False), op.updates]
        how = op.combine.data
        result = insert_node(rewriter, onnx.ScatterNDOp, operands, op.result.type, reduction=how)
        rewriter.replace(op, [], [result])


PATTERNS: list[type[OnnxExport]] = [
    GatherExport,
    GatherElementsExport,
    GatherNdExport,
    ScatterElementsExport,
    ScatterNdExport,
]
