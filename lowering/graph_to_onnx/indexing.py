"""Graph ops that read or write at positions that are data → operators of ONNX."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.copies import CopyTable, copied
from stepwell.lowering.graph_to_onnx.nodes import replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of

INDEXED: CopyTable = {
    graph.GatherElementsOp: (onnx.GatherElementsOp, {"axis": "axis"}),
    graph.GatherNdOp: (onnx.GatherNDOp, {"batch_dims": "batch_dims"}),
    graph.ScatterElementsOp: (onnx.ScatterElementsOp, {"axis": "axis", "reduction": "combine"}),
    graph.ScatterNdOp: (onnx.ScatterNDOp, {"reduction": "combine"}),
}


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
        replace_by_node(rewriter, op, onnx.GatherOp, operands, axis=axis)


class ElementsExport(OnnxExport):
    """The other gathers and scatters → the operators of `INDEXED`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: graph.GatherElementsOp | graph.GatherNdOp | graph.ScatterElementsOp | graph.ScatterNdOp,
        rewriter: PatternRewriter,
    ) -> None:
        """Cast the indices, to i64 where they are positions of several dimensions; copy the attributes."""
        several = isinstance(op, graph.GatherNdOp | graph.ScatterNdOp)
        indices = as_indices(op.indices, rewriter, narrow=not several)
        target, names = INDEXED[type(op)]
        operands = [op.input, indices, *op.operands[2:]]
        replace_by_node(rewriter, op, target, operands, **copied(op, names))
